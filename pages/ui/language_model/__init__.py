"""The "Language model" page: it continues a text, shows why, and scores how likely a text is."""
