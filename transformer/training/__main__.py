"""Entry point of `python -m transformer.training`."""

from transformer.commands.train import main

if __name__ == "__main__":
    main()
