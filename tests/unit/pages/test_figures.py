import hashlib
import json
import re
import tomllib
import zlib
from pathlib import Path

import pytest

from attention_atlas.browser.scripts import modules, script
from attention_atlas.browser.wire import unframe
from pages.ui.components.exporter import FONTS, colours, fonts

ROOT = Path(__file__).parents[3]
ASSETS = ROOT / "assets"
THEMES = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]


def test_every_chart_is_drawn_by_the_function_that_adds_a_save_menu():
    for path in (ROOT / "pages").rglob("*.py"):
        if path.name != "save_as.py":
            drawn = re.findall(r"\.(?:altair|plotly|vega_lite|line|bar|scatter|area)_chart\(", path.read_text("utf-8"))
            assert not drawn, f"{path.name}: draw it with pages/ui/components/save_as.py"


def test_light_theme_of_the_scripts_matches_the_app():
    source = (ASSETS / "shared" / "colours.js").read_text(encoding="utf-8")
    named = dict(re.findall(r'"--st-([\w-]+)": "(#\w{6})"', source.partition("LIGHT_THEME = {")[2].partition("}")[0]))
    assert named == {
        re.sub("[A-Z]", lambda match: f"-{match[0].lower()}", name): colour
        for name, colour in THEMES["light"].items()
        if isinstance(colour, str)
    }


def test_every_dark_theme_colour_maps_to_one_light_theme_colour():
    pairs = colours()
    assert len(dict(pairs)) == len(pairs), "one dark colour would be two light ones"
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for pair in pairs for colour in pair)
    assert dict(pairs)[THEMES["dark"]["textColor"]] == THEMES["light"]["textColor"]
    assert set(THEMES["dark"]["chartCategoricalColors"]) <= set(dict(pairs))


def test_font_message_contains_every_shipped_font():
    header, body = unframe(fonts())
    files, start = zlib.decompress(body), 0
    for font, name in zip(header["fonts"], FONTS, strict=True):
        assert files[start : start + font["size"]] == (ASSETS / "fonts" / name).read_bytes()
        start += font["size"]
    assert start == len(files) and json.dumps(header)


@pytest.mark.parametrize(
    "file", sorted([*(ASSETS / "fonts").glob("*.ttf"), *(ASSETS / "vendor").glob("*.js")]), ids=lambda path: path.name
)
def test_third_party_files_are_unchanged_and_licensed(file):
    assert list(file.parent.glob(f"{file.stem.partition('-')[0]}-LICENSE*"))
    listed = (file.parent / "README.md").read_text(encoding="utf-8")
    assert hashlib.sha256(file.read_bytes()).hexdigest() in listed


def test_pdf_libraries_are_included_only_with_the_pdf_writer():
    source = script("figures/pdf_writer")
    assert 0 < source.index("jsPDF - PDF Document creation") < source.index("class PdfWriter")
    assert not any(module.parent.name == "vendor" for module in modules("figures/exporter"))
