"""The "Your own attention" page: shows attention maps of any model, loaded from a file."""

from pages.ui.shell.router import ensure_router

ensure_router()

from pages.ui.your_own_attention.maps import show_maps

show_maps()
