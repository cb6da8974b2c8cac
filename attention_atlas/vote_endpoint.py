"""Answers requests about votes: phones fetch a small page and send ballots; the lecturer opens and closes votes.

The endpoint runs in the reverse proxy's process, so all phones and all app processes share it. A phone needs no session
in the app. The endpoint can delay the answer to a request for the state until the vote changes.

- `GET …/vote` returns the page for phones, and `GET …/vote/state` returns the state of the vote.
- `POST …/vote/ballot` casts a ballot.
- `POST …/vote/act` opens, closes, reveals or clears a vote, and `GET …/vote/results.csv` returns the results; only the
  lecturer may use these.
- `GET …/vote/lecturer?CODE` gives the requesting browser the lecturer's cookie; each code works once.
"""

import asyncio
import csv
import re
import secrets
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from io import StringIO
from typing import Annotated, Literal

import msgspec

from attention_atlas.ballot_box import BallotBox, VoteError
from attention_atlas.browser.scripts import script
from transformer.files.csv_cells import escaped
from transformer.files.paths import ASSETS

# Environment variable that contains the name of the lecturer's cookie; set only if the app is behind a vote endpoint.
LECTURER_COOKIE = "ATTENTION_ATLAS_LECTURER_COOKIE"
PATH = b"/vote"
ACTIONS = {
    b"": b"GET",
    b"/state": b"GET",
    b"/lecturer": b"GET",
    b"/ballot": b"POST",
    b"/act": b"POST",
    b"/results.csv": b"GET",
}
# Maximum size of a body in bytes, and seconds allowed for it to arrive.
MAX_BODY = 8_192
BODY_TIMEOUT = 10.0
# Maximum time, in seconds, that a request waits for the vote to change, and maximum number of waiting requests. A
# browser waits almost all the time, because it sends its next request soon after each response.
WAIT_SECONDS = 25.0
MAX_WAITING = 2_000
# How long a browser counts as the lecturer's, in seconds.
LECTURE_SECONDS = 12 * 3600
ONLY_LECTURER = "Only the lecturer's browser may do this: open the URL that the terminal shows."
REASONS = {200: "OK", 303: "See Other", 400: "Bad Request", 403: "Forbidden", 405: "Method Not Allowed"}
REASONS |= {408: "Request Timeout", 409: "Conflict", 411: "Length Required", 413: "Content Too Large"}
REASONS |= {415: "Unsupported Media Type", 503: "Service Unavailable"}


class Ballot(msgspec.Struct, forbid_unknown_fields=True):
    """A ballot as sent by a phone."""

    vote: int
    voter: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
    choice: int


class Act(msgspec.Struct, forbid_unknown_fields=True):
    """An action by the lecturer, with the data for the action."""

    act: Literal["open", "close", "reveal", "clear"]
    question: str = ""
    choices: tuple[str, ...] = ()
    answer: int = 0
    shares: tuple[Annotated[float, msgspec.Meta(ge=0, le=1)], ...] = ()
    says: str = ""


@dataclass(frozen=True)
class VoteRequest:
    """Head of a request to the vote endpoint.

    Attributes:
        action: key in ACTIONS.
        method: HTTP method.
        query: query string of the URL.
        fields: headers, with names in lower case.
    """

    action: bytes
    method: bytes
    query: bytes
    fields: dict[bytes, bytes]


def vote_request(head: bytes) -> VoteRequest | None:
    """Parse a request's head. Return None if the request is for the app, not the vote endpoint (at any base path)."""
    line, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    method, _, target = line.rpartition(b" ")[0].partition(b" ")
    path, _, query = target.partition(b"?")
    _, found, action = path.rpartition(PATH)
    if not found or action not in ACTIONS:
        return None
    named = (field.partition(b":") for field in lines)
    return VoteRequest(action, method, query, {name.lower(): value.strip() for name, _, value in named})


class VoteEndpoint:
    """The votes in one lecture, and the identity of the lecturer's browser.

    Args:
        public_port: port of the app, which is part of the name of the lecturer's cookie.
        tell: function that receives the path of each new invitation; the first browser to open it becomes the
            lecturer's.
    """

    def __init__(self, public_port: int, tell: Callable[[str], None]) -> None:
        self.box = BallotBox()
        self.cookie = f"attention_atlas_lecturer_{public_port}"
        self._secret = secrets.token_urlsafe(24)
        self._tell = tell
        self._waiting = 0
        self._staged, self._counted = asyncio.Event(), asyncio.Event()
        self._code = ""

    def invite(self) -> None:
        """Issue a new code for the lecturer and invalidate the old one, which the audience may have seen and used."""
        self._code = secrets.token_urlsafe(12)
        self._tell(f"{PATH.decode()}/lecturer?{self._code}")

    async def answer(self, request: VoteRequest, reader: asyncio.StreamReader) -> bytes:
        """Return the whole HTTP response to a request."""
        try:
            if request.method != ACTIONS[request.action]:
                raise VoteError(405, "This address does not support the request's HTTP method.")
            if request.method == b"POST":
                return self._sent(request, await _body(request, reader))
            if request.action == b"/lecturer":
                return self._welcome(request)
            if request.action == b"/state":
                return await self._state(request)
            if request.action == b"/results.csv":
                return self._results(request)
            page, policy = phone_page()
            return _answer(200, page, "text/html", f"Content-Security-Policy: {policy}")
        except VoteError as error:
            return _answer(error.status, str(error).encode())

    def _sent(self, request: VoteRequest, body: bytes) -> bytes:
        """Count a ballot, or carry out the lecturer's action."""
        lecturer = self._is_lecturer(request)
        if request.action == b"/act" and not lecturer:
            raise VoteError(403, ONLY_LECTURER)
        try:
            message = msgspec.json.decode(body, type=Ballot if request.action == b"/ballot" else Act)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise VoteError(400, "The request is not a valid ballot or action.") from None
        if isinstance(message, Ballot):
            self.box.put(message.vote, message.voter, message.choice)
            self._counted = _wake(self._counted)
            return _answer(200, b"{}", "application/json")
        acts: dict[str, Callable[[], None]] = {
            "open": lambda: self.box.open(message.question, message.choices),
            "close": self.box.close,
            "reveal": lambda: self.box.reveal(message.answer, message.shares, message.says),
            "clear": self.box.clear,
        }
        acts[message.act]()
        self._staged, self._counted = _wake(self._staged), _wake(self._counted)
        return self._shown(lecturer=lecturer)

    async def _state(self, request: VoteRequest) -> bytes:
        """Return the state of the vote, after waiting for a change if the browser already has the current state.

        A browser has the current state if it sends the current stage and, for the lecturer, the current number of
        voters.
        """
        lecturer = self._is_lecturer(request)
        version = re.fullmatch(rb"stage=(\d{1,10})(?:&voters=(\d{1,6}))?", request.query)
        same = version is not None and int(version[1]) == self.box.stage
        if same and lecturer:
            same = version is not None and version[2] is not None and int(version[2]) == len(self.box.ballots)
        if same and self._waiting < MAX_WAITING:
            self._waiting += 1
            try:
                async with asyncio.timeout(WAIT_SECONDS):
                    await (self._counted if lecturer else self._staged).wait()
            except TimeoutError:
                pass
            finally:
                self._waiting -= 1
        return self._shown(lecturer=lecturer)

    def _shown(self, *, lecturer: bool) -> bytes:
        return _answer(200, msgspec.json.encode(self.box.state(lecturer=lecturer)), "application/json")

    def _results(self, request: VoteRequest) -> bytes:
        """Return a CSV file for the lecturer, with one row per choice."""
        if not self._is_lecturer(request):
            raise VoteError(403, ONLY_LECTURER)
        state, file = self.box.state(lecturer=True), StringIO(newline="")
        shares = state.get("shares") or [""] * len(state["choices"])
        rows = csv.writer(file)
        rows.writerow(["question", "choice", "votes", "model's share", "answer"])
        for number, choice in enumerate(state["choices"]):
            cells = state["question"], choice, state["counts"][number], shares[number], number == state.get("answer")
            rows.writerow(map(escaped, cells))
        return _answer(
            200, file.getvalue().encode(), "text/csv", 'Content-Disposition: attachment; filename="vote.csv"'
        )

    def _welcome(self, request: VoteRequest) -> bytes:
        """Give the requesting browser the lecturer's cookie if the code in the request is valid."""
        if not self._code or not secrets.compare_digest(request.query, self._code.encode()):
            raise VoteError(403, "This address is invalid or has already been used. The terminal shows a valid one.")
        self.invite()
        cookie = f"{self.cookie}={self._secret}; Path=/; Max-Age={LECTURE_SECONDS}; HttpOnly; SameSite=Strict"
        return _answer(303, b"", "text/plain", f"Set-Cookie: {cookie}", "Location: ../")

    def _is_lecturer(self, request: VoteRequest) -> bool:
        pairs = (pair.strip().partition(b"=") for pair in request.fields.get(b"cookie", b"").split(b";"))
        cookie = next((value for name, _, value in pairs if name == self.cookie.encode()), b"")
        return secrets.compare_digest(cookie, self._secret.encode())


async def _body(request: VoteRequest, reader: asyncio.StreamReader) -> bytes:
    """Return a request's body if the request comes from a page of this server.

    Raises:
        VoteError: the request comes from another site, is not JSON, does not state its length or is too large, or the
            body does not arrive in time.
    """
    origin = request.fields.get(b"origin")
    if origin is not None and origin.partition(b"://")[2] != request.fields.get(b"host"):
        raise VoteError(403, "This request comes from another site.")
    if not request.fields.get(b"content-type", b"").startswith(b"application/json"):
        raise VoteError(415, "Send JSON.")
    length = request.fields.get(b"content-length", b"")
    if not length.isdigit():
        raise VoteError(411, "Send the length of the body as Content-Length.")
    if len(length) > 9 or int(length) > MAX_BODY:
        raise VoteError(413, f"The body must have at most {MAX_BODY} bytes.")
    try:
        async with asyncio.timeout(BODY_TIMEOUT):
            return await reader.readexactly(int(length))
    except TimeoutError:
        raise VoteError(408, "The request body did not arrive in time.") from None


def _wake(event: asyncio.Event) -> asyncio.Event:
    """Wake all requests that wait for an event, and return a new event for later requests."""
    event.set()
    return asyncio.Event()


def _answer(status: int, body: bytes, kind: str = "text/plain", *fields: str) -> bytes:
    head = [
        f"HTTP/1.1 {status} {REASONS[status]}",
        f"Content-Type: {kind}; charset=utf-8",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "Referrer-Policy: no-referrer",
        *fields,
        "Connection: close\r\n\r\n",
    ]
    return "\r\n".join(head).encode() + body


@cache
def phone_page() -> tuple[bytes, str]:
    """Return the page for phones, and a content security policy that allows only the page's own script and style."""
    inside = {"script": script("vote/phone"), "style": (ASSETS / "vote" / "phone.css").read_text(encoding="utf-8")}
    page = (ASSETS / "vote" / "phone.html").read_text(encoding="utf-8")
    for name, text in inside.items():
        page = page.replace(f"></{name}>", f">{text}</{name}>")
    hashes = {name: b64encode(sha256(text.encode()).digest()).decode() for name, text in inside.items()}
    return page.encode(), (
        f"default-src 'none'; script-src 'sha256-{hashes['script']}'; style-src 'sha256-{hashes['style']}'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
