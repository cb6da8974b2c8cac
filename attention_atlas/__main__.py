"""Entry point of `python -m attention_atlas`, which runs the `attention-atlas` command without installation."""

from attention_atlas.command_line import main

if __name__ == "__main__":
    main()
