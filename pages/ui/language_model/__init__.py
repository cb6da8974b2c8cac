"""The "Language model" page: continues a text, shows the attention behind it, and scores how likely a text is."""
