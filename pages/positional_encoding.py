"""The "Positional encoding" page: how the model represents token order, and whether the translation depends on it."""

from pages.ui.shell.router import ensure_router

ensure_router()

from pages.ui.params.pages import PAGES
from pages.ui.params.positional_encoding import PositionsParams
from pages.ui.reading.sentence import read_sentence
from pages.ui.reading.translation import show_translation
from pages.ui.shell.parts import pick_part

PAGE = PAGES["positional_encoding"]

part = pick_part(PAGE.name, PositionsParams)
if PAGE.parts[part].reads:
    reading = read_sentence()
    show_translation(reading)
    PAGE.function(part)(reading)
else:
    PAGE.function(part)()
