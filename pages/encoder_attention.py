"""The encoder self-attention page: an attention map for each head."""

from pages.ui.shell.router import ensure_router

ensure_router()

from pages.ui.attention.page import attention_page

attention_page("encoder", "Every {source} word can look at every other {source} word.")
