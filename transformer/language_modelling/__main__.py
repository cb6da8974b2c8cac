"""Entry point of `python -m transformer.language_modelling`."""

from transformer.commands.language_model import main

if __name__ == "__main__":
    main()
