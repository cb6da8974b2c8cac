"""Middleware that adds the opening screen to Streamlit's HTML document, and serves component scripts as files.

Streamlit would send a component's script with each message: half a megabyte for every sentence of every user. A file is
fetched once and then cached by browsers and proxies.
"""

from hashlib import sha256

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pages.ui.server.opening import arrange_document

# The scripts' path is below that of Streamlit's static files, so proxies that cache static files cache the scripts too.
FOLDER = "/static/atlas/"
CACHE_FOREVER = {"Cache-Control": "public, immutable, max-age=31536000"}
# HTML documents whose path contains one of these strings are not the app's page, so they must not be changed.
UNCHANGED_PATHS = ("/media/", "/component/", "/_stcore/")
# Headers that would be wrong for the changed document.
STALE_HEADERS = (b"content-length", b"accept-ranges", b"etag", b"last-modified")
_scripts: dict[str, bytes] = {}


def keep_script(name: str, script: str) -> str:
    """Register a JavaScript module to serve; return its path, with a content hash, relative to the app's URL."""
    data = script.encode("utf-8")
    path = f"{FOLDER}{name}-{sha256(data).hexdigest()[:16]}.js"
    _scripts[path] = data
    return path.removeprefix("/")


class DocumentMiddleware:
    """ASGI middleware that changes Streamlit's HTML document and serves registered scripts."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (
            scope["type"] != "http"
            or scope["method"] != "GET"
            or any(part in scope["path"] for part in UNCHANGED_PATHS)
        ):
            await self._app(scope, receive, send)
            return
        # Search for the folder anywhere in the path, because the app may be served under a path prefix.
        script = _scripts.get(scope["path"][scope["path"].find(FOLDER) :])
        if script is not None:
            await Response(script, media_type="text/javascript", headers=CACHE_FOREVER)(scope, receive, send)
            return
        # Ask for an uncompressed document, so that it can be changed.
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
                message = {"type": "http.response.body", "body": arrange_document(body)}
                headers = [(name, value) for name, value in start["headers"] if name.lower() not in STALE_HEADERS]
                headers.append((b"content-length", b"%d" % len(message["body"])))
                await send({**start, "headers": headers})
            await send(message)

        await self._app(scope, receive, send_arranged)


def is_document(message: Message) -> bool:
    """Return whether a response is a complete HTML document, not a part of one (status 206)."""
    kind = next((value for name, value in message["headers"] if name.lower() == b"content-type"), b"")
    return message["status"] == 200 and kind.startswith(b"text/html")
