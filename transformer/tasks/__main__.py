"""Entry point of `python -m transformer.tasks`."""

from transformer.commands.tasks import main

if __name__ == "__main__":
    main()
