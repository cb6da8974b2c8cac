"""The "Language model" page: continues a text, shows the attention behind the continuation, and scores texts."""
