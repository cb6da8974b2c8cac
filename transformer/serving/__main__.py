"""Entry point of `python -m transformer.serving`."""

from transformer.commands.serve import main

if __name__ == "__main__":
    main()
