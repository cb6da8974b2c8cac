"""Entry point of `python -m transformer`."""

from transformer.commands.translate import main

if __name__ == "__main__":
    main()
