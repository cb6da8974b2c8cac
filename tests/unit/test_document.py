"""Tests of how the server changes Streamlit's HTML document and responses."""

import asyncio

import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Mount, Route
from streamlit import file_util

from pages.ui.server import document
from pages.ui.server.document import DocumentMiddleware, keep_script

DOCUMENT = "<!DOCTYPE html><html><head><title>Streamlit</title></head><body><div id='root'></div></body></html>"


def ask(path: str, *, under: str = "", method: str = "GET") -> tuple[int, dict[str, str], str]:
    """Return the status, headers and body of a response from a small server with the base path `under`."""

    async def document(request):
        return HTMLResponse(DOCUMENT, headers={"ETag": "of Streamlit's file"})

    async def text(request):
        return PlainTextResponse("<head>")

    documents = [Route(path, document) for path in ("/", "/decoding", "/media/a")]
    inner = Starlette(routes=[*documents, Route("/text", text)])
    app = Mount(under, app=DocumentMiddleware(inner)) if under else DocumentMiddleware(inner)
    sent = []

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {
        "type": "http",
        "method": method,
        "path": under + path,
        "root_path": "",
        "headers": [],
        "query_string": b"",
    }
    asyncio.run(Starlette(routes=[app])(scope, receive, send) if under else app(scope, receive, send))
    head = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], head, b"".join(message.get("body", b"") for message in sent[1:]).decode()


@pytest.mark.parametrize("path", ["/", "/decoding"])
def test_html_document_shows_the_app_title_before_the_script_runs(path):
    status, head, body = ask(path)
    assert status == 200 and int(head["content-length"]) == len(body.encode())
    assert "etag" not in head, "it changes while the server gets warm"
    assert "<title>Attention Atlas</title>" in body and "Starting the Transformer" in body
    assert body.index("BACKEND_BASE_URL") < body.index("</head>") < body.index('id="opening"') < body.index("id='root'")


def test_installed_streamlit_document_contains_each_replaced_marker_once():
    """The app replaces each marker in Streamlit's index.html, so each must occur exactly once."""
    with open(f"{file_util.get_static_dir()}/index.html", encoding="utf-8") as file:
        original = file.read()
    for mark in ("<head>", "<title>Streamlit</title>", 'href="./favicon.png"', "<body>"):
        assert original.count(mark) == 1, mark
    arranged = document.arrange_document(original.encode()).decode()
    assert arranged.index("BACKEND_BASE_URL") < arranged.index('<script type="module"')


def test_server_responses_other_than_the_html_document_are_unchanged():
    assert ask("/text")[2] == "<head>"
    assert ask("/nothing")[0] == 404
    assert ask("/media/a")[2] == DOCUMENT, "a file that a reader saves"
    assert ask("/", method="HEAD")[1]["etag"] == "of Streamlit's file"


@pytest.mark.parametrize("under", ["", "/atlas"])
def test_component_script_has_a_unique_url_and_is_cached_forever(under):
    path = "/" + keep_script("made_up", "export default 1;")
    assert path != "/" + keep_script("made_up", "export default 2;"), "another text, another address"
    status, head, body = ask(path, under=under)
    assert (status, body) == (200, "export default 1;") and head["content-type"].startswith("text/javascript")
    assert "immutable" in head["cache-control"] and path.startswith("/static/"), "so that proxies keep it, too"
