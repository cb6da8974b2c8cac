"""The command line `python -m attention_atlas`: `attention-atlas` without installation."""

from attention_atlas.command_line import main

if __name__ == "__main__":
    main()
