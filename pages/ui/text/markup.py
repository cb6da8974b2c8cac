"""Escapes text from users, so that Markdown shows the text literally."""

import re

from attention_atlas.browser.token_labels import isolate

PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
# Matches the first character of each text that Streamlit replaces even if its punctuation is escaped: links, arrows,
# dashes, comparison signs and icons. A zero-width word joiner after this character prevents the replacement.
REPLACED = re.compile(r"(?=://|@|www|<-|->|--|<=|>=|~=|:material|:streamlit).", re.IGNORECASE)
WORD_JOINER = "\u2060"


def markdown(text: str) -> str:
    """Return Markdown that shows `text` literally: no emphasis, links, formulas, emoji codes, arrows, colours or HTML.

    Right-to-left text is isolated, so that its punctuation does not move into the surrounding English. No character in
    the text can end the isolation.
    """
    joined = REPLACED.sub(lambda match: match[0] + WORD_JOINER, " ".join(text.split()))
    escaped = PUNCTUATION.sub(r"\\\1", joined)
    return isolate(escaped)
