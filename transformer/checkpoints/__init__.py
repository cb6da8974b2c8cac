"""Model folders of translators and language models: reads, writes, seals and lists them."""
