import base64
import io
import re
from urllib.parse import unquote_to_bytes

import pytest
import segno

from pages.ui.lecture.qr_code import full_address, local_only, qr_code

PAGES = ("translate", "cross_attention", "decoding")
TEXT = "It was “too” wide & höher – 100 %."


def test_url_in_the_qr_code_keeps_the_host_and_path_of_the_app():
    whole = full_address("http://192.168.1.20:8501/", "cross_attention", {"text": TEXT, "layer": "5"}, PAGES)
    assert whole == (
        "http://192.168.1.20:8501/cross_attention?text=It+was+%E2%80%9Ctoo%E2%80%9D+wide+%26+h%C3%B6her+%E2%80%93+"
        "100+%25.&layer=5"
    )
    for base in ("https://example.org/atlas", "https://example.org/atlas/"):
        assert full_address(base, "", {"text": "x"}, PAGES) == "https://example.org/atlas/?text=x"
        assert full_address(base, "decoding", {"text": "x"}, PAGES) == "https://example.org/atlas/decoding?text=x"


@pytest.mark.parametrize(
    "open_page", ["cross_attention", "cross_attention/", "decoding", "cross_attention?text=x&layer=5"]
)
def test_base_url_of_the_app_excludes_the_open_page(open_page):
    for base in ("http://192.168.1.20:8501/", "https://example.org/decoding_atlas/"):
        assert full_address(base + open_page, "decoding", {"text": "x"}, PAGES) == base + "decoding?text=x"
        assert full_address(base + open_page, "", {"text": "x"}, PAGES) == base + "?text=x"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1.2.3", "[::1]", "0.0.0.0", "me.localhost"])
def test_url_that_phones_cannot_reach_is_reported_with_advice(host):
    said = local_only(f"http://{host}:8502/?text=x")
    assert "--lecture --server.port 8502”" in said and host.strip("[]") in said
    assert "--lecture”" in local_only(f"http://{host}:8501/?text=x")


@pytest.mark.parametrize("host", ["192.168.1.20", "atlas.example.org", "laptop.local", "[fe80::1]", "localhost.de"])
def test_reachable_url_gets_no_warning(host):
    assert local_only(f"http://{host}:8501/?text=x") == ""


def test_qr_code_encodes_the_url():
    address = "http://192.168.1.20:8501/cross_attention?text=x"
    image = qr_code(address)
    assert image is not None and image.startswith("data:image/svg+xml")
    _, _, data = image.partition(",")
    drawn = base64.b64decode(data) if ";base64" in image else unquote_to_bytes(data)
    expected = io.BytesIO()
    segno.make_qr(address, error="m").save(
        expected, kind="svg", border=4, dark="#000000", light="#ffffff", xmldecl=False, nl=False
    )
    dark, modules = (re.findall(rb"""<path.*? d=['"]([^'"]+)['"]""", each)[-1] for each in (drawn, expected.getvalue()))
    assert dark == modules


def test_url_too_long_for_a_qr_code_gets_no_code():
    assert qr_code("http://x/?text=" + "x" * 3_000) is None
