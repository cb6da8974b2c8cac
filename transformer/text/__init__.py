"""Text: normalisation, tokenizers, vocabularies and the names of languages."""
