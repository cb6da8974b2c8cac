"""Text for users: captions, labels, markup, number formats and the glossary."""
