"""The cross-attention page: a map for each head, and the word alignment of the source and target sentences."""

from pages.ui.shell.router import ensure_router

ensure_router()

from pages.ui.attention.alignment import show_alignment
from pages.ui.attention.page import attention_page

reading = attention_page(
    "cross",
    "Each time it writes a word of {target}, the model looks at the {source} sentence. "
    "Below: [alignment and coverage](#alignment).",
)
show_alignment(reading.trace, reading.languages, reading.choice("cross").layer)
