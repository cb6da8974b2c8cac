"""Encoder self-attention, head by head."""

from __future__ import annotations

from pages.ui.router import ensure_router

ensure_router()

from pages.ui.attention import attention_page  # noqa: E402

attention_page("encoder", "Every piece of the English sentence looks at every other one.")
