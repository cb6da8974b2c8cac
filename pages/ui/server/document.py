"""Middleware that adds the opening screen to Streamlit's document, and serves the scripts of components.

Streamlit would send a component's script in each of its messages: half a megabyte for every sentence of every user. A
file is fetched once, and then cached by browsers and proxies.
"""

from __future__ import annotations

from hashlib import sha256

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pages.ui.server.opening import arranged

# A path below that of Streamlit's own static files, which proxies cache.
FOLDER = "/static/atlas/"
FOR_GOOD = {"Cache-Control": "public, immutable, max-age=31536000"}
# Path segments of HTML documents that are not Streamlit's own.
OTHERS = ("/media/", "/component/", "/_stcore/")
# Headers that no longer hold for the changed document.
CHANGED = (b"content-length", b"accept-ranges", b"etag", b"last-modified")
_scripts: dict[str, bytes] = {}


def keep_script(name: str, script: str) -> str:
    """Serve a JavaScript module; return its path below the app's address, which is unique to the module's text."""
    data = script.encode("utf-8")
    path = f"{FOLDER}{name}-{sha256(data).hexdigest()[:16]}.js"
    _scripts[path] = data
    return path.removeprefix("/")


class DocumentMiddleware:
    """ASGI middleware that changes Streamlit's document, and serves scripts next to Streamlit's own files."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET" or any(part in scope["path"] for part in OTHERS):
            await self._app(scope, receive, send)
            return
        # Search for the folder, because the app may run below any path.
        script = _scripts.get(scope["path"][scope["path"].find(FOLDER) :])
        if script is not None:
            await Response(script, media_type="text/javascript", headers=FOR_GOOD)(scope, receive, send)
            return
        # Remove this header, so that Streamlit does not compress the document.
        scope = {**scope, "headers": [each for each in scope["headers"] if each[0] != b"accept-encoding"]}
        start: Message = {}
        body = b""

        async def send_arranged(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start" and is_document(message):
                start = message
                return
            if start and message["type"] == "http.response.body":
                body += message.get("body", b"")
                if message.get("more_body"):
                    return
                message = {"type": "http.response.body", "body": arranged(body)}
                headers = [(name, value) for name, value in start["headers"] if name.lower() not in CHANGED]
                headers.append((b"content-length", b"%d" % len(message["body"])))
                await send({**start, "headers": headers})
            await send(message)

        await self._app(scope, receive, send_arranged)


def is_document(message: Message) -> bool:
    """Return whether a response starts a whole HTML document."""
    kind = next((value for name, value in message["headers"] if name.lower() == b"content-type"), b"")
    return message["status"] == 200 and kind.startswith(b"text/html")
