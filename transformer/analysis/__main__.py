"""Entry point of `python -m transformer.analysis`."""

from transformer.commands.measure import main

if __name__ == "__main__":
    main()
