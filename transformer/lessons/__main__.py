"""Entry point of `python -m transformer.lessons`."""

from transformer.commands.lessons import main

if __name__ == "__main__":
    main()
