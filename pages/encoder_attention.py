"""Encoder self-attention, head by head."""

from __future__ import annotations

from pages.ui.shell.router import ensure_router

ensure_router()

from pages.ui.attention.page import attention_page

attention_page("encoder", "Every word of the {source} sentence looks at every other one.")
