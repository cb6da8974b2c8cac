"""Cross-attention, head by head."""

from __future__ import annotations

from pages.ui.router import ensure_router

ensure_router()

from pages.ui.alignment import show_alignment  # noqa: E402
from pages.ui.attention import attention_page  # noqa: E402

reading = attention_page("cross", "Every step of the German sentence looks at the English one.")
show_alignment(reading.trace)
