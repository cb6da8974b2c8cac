"""Cross-attention, head by head."""

from __future__ import annotations

from pages.ui.shell.router import ensure_router

ensure_router()

from pages.ui.attention.alignment import show_alignment
from pages.ui.attention.page import attention_page

reading = attention_page("cross", "Every step of the {target} sentence looks at the {source} one.")
show_alignment(reading.trace, reading.languages, reading.choice("cross").layer)
