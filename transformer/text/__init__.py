"""Text processing: normalisation, tokenizers, vocabularies, and language codes."""
