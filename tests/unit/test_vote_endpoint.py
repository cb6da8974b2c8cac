"""Tests of voting through the requests that phones and the lecturer's browser send to the proxy."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from attention_atlas import ballot_box, vote_endpoint
from attention_atlas.reverse_proxy import ReverseProxy
from attention_atlas.vote_endpoint import VoteEndpoint, phone_page, vote_request
from tests.unit.test_reverse_proxy import within

QUESTION = {"act": "open", "question": "What comes <b>next</b>?", "choices": ["Hund", "Katze", "<script>"]}


@dataclass
class Hall:
    """A proxy with a vote endpoint but without an app, and the paths printed in the terminal."""

    port: int
    told: list[str] = field(default_factory=list)
    cookie: str = ""

    async def ask(self, method: str, path: str, body: object = None, *more: str) -> tuple[int, str, str]:
        """Send a request; return the status, headers and body of the response."""
        sent = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        fields = [f"{method} {path} HTTP/1.1", "Host: hall", *more]
        if method == "POST":
            fields += ["Content-Type: application/json", f"Content-Length: {len(sent)}"]
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write("\r\n".join([*fields, "\r\n"]).encode() + sent)
        head, _, text = (await reader.read()).decode().partition("\r\n\r\n")
        writer.close()
        return int(head.split()[1]), head, text

    async def vote(self, number: int, choice: object, vote: object) -> int:
        return (await self.ask("POST", "/vote/ballot", {"vote": vote, "voter": f"{number:032x}", "choice": choice}))[0]

    async def act(self, act: dict[str, object]) -> tuple[int, dict]:
        status, _, text = await self.ask("POST", "/vote/act", act, f"Cookie: a=1; {self.cookie}")
        return status, json.loads(text) if status == 200 else {"says": text}

    async def state(self, *, lecturer: bool = False, query: str = "stage=") -> dict:
        return json.loads((await self.ask("GET", f"/vote/state?{query}", None, f"Cookie: {self.cookie * lecturer}"))[2])


@asynccontextmanager
async def hall(*, lecturer: bool = True) -> AsyncIterator[Hall]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        place = Hall(listening.getsockname()[1])
        endpoint = VoteEndpoint(8501, place.told.append)
        running = await ReverseProxy([], 8501, endpoint).start(listening)
        try:
            endpoint.invite()
            if lecturer:
                head = (await place.ask("GET", place.told[0]))[1]
                place.cookie = head.partition("Set-Cookie: ")[2].partition(";")[0]
            yield place
        finally:
            running.close()


@pytest.mark.parametrize(
    ("target", "action"),
    [
        (b"/vote", b""),
        (b"/atlas/vote", b""),
        (b"/vote/state?stage=1", b"/state"),
        (b"/votes", None),
        (b"/vote/", None),
        (b"/?text=/vote", None),
        (b"/cross_attention", None),
        (b"/vote" * 10_000 + b"x", None),
    ],
    ids=range(8),
)
def test_only_vote_paths_are_recognised_as_vote_requests(target, action):
    found = vote_request(b"GET " + target + b" HTTP/1.1\r\nCookie: a\r\n\r\n")
    assert (found and found.action) == action


def test_result_of_a_vote_can_be_revealed_only_after_the_vote_is_closed():
    async def lecture() -> None:
        async with hall() as place:
            assert (await place.state())["status"] == "none"
            _, opened = await place.act(QUESTION)
            vote = opened["vote"]
            assert [await place.vote(number, choice, vote) for number, choice in enumerate((1, 1, 0))] == [200] * 3
            assert await place.vote(0, 2, vote) == 200, "a voter may change a ballot"
            seen = await place.state()
            assert seen["question"] == QUESTION["question"] and seen["choices"] == QUESTION["choices"]
            assert seen["voters"] == 3 and "counts" not in seen, "nobody follows the others"
            assert (await place.state(lecturer=True))["counts"] == [1, 1, 1]
            assert (await place.act({"act": "reveal"}))[0] == 409, "not before it is closed"
            assert (await place.act({"act": "close"}))[0] == 200
            status, _, text = await place.ask("POST", "/vote/ballot", {"vote": vote, "voter": "0" * 32, "choice": 0})
            assert (status, text) == (409, "This vote is closed.")
            await place.act({"act": "reveal", "answer": 1, "shares": [0.25, 0.5, 0], "says": "Katze, with 50 %."})
            told = await place.state()
            assert told["counts"] == [1, 1, 1] and told["answer"] == 1 and told["shares"] == [0.25, 0.5, 0]
            _, again = await place.act(QUESTION)
            assert again["counts"] == [0, 0, 0] and "answer" not in again
            assert await place.vote(0, 0, vote) == 409, "a ballot of the previous vote does not count in this one"
            assert (await place.act({"act": "clear"}))[1]["status"] == "none"

    within(lecture)


def test_only_the_browser_of_the_lecturer_can_open_and_close_a_vote():
    async def lecture() -> None:
        async with hall(lecturer=False) as place:
            for cookie in ("", "attention_atlas_lecturer_8501=", "attention_atlas_lecturer_8501=guess"):
                place.cookie = cookie
                assert (await place.act(QUESTION))[0] == 403
                assert not (await place.state(lecturer=True))["lecturer"]
            assert (await place.ask("GET", "/vote/lecturer?guess"))[0] == 403
            assert (await place.ask("GET", "/vote/results.csv"))[0] == 403
            status, head, _ = await place.ask("GET", place.told[0])
            assert status == 303 and "Location: ../\r\n" in head and "; HttpOnly; SameSite=Strict\r\n" in head
            assert (await place.ask("GET", place.told[0]))[0] == 403, "an address that the audience saw too late"
            assert len(place.told) == 2 and (await place.ask("GET", place.told[1]))[0] == 303
            place.cookie = head.partition("Set-Cookie: ")[2].partition(";")[0]
            assert (await place.act(QUESTION))[0] == 200
            other = f"Cookie: {place.cookie}", "Origin: http://elsewhere"
            assert (await place.ask("POST", "/vote/act", {"act": "close"}, *other))[0] == 403

    within(lecture)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"[" * 8_000, 400),
        (b" " * 8_193, 413),
        ({"vote": 1}, 400),
        ({"voter": "x" * 32}, 400),
        ({"voter": "0" * 33}, 400),
        ({"choice": 3}, 400),
        ({"choice": -1}, 400),
        ({"choice": 1.5}, 400),
        ({"choice": "1"}, 400),
        ({"choice": True}, 400),
        ({"choice": 10**30}, 400),
        ({"more": 1}, 400),
        ({"vote": 0}, 409),
    ],
    ids=range(16),
)
def test_invalid_ballot_is_rejected(body, status):
    async def lecture() -> None:
        async with hall() as place:
            vote = (await place.act(QUESTION))[1]["vote"]
            sent = body
            if isinstance(body, dict) and body != {"vote": 1}:
                sent = {"vote": vote, "voter": "0" * 32, "choice": 0, **body}
            found, _, text = await place.ask("POST", "/vote/ballot", sent)
            assert found == status and text.endswith(".") and "\n" not in text
            assert (await place.state())["voters"] == 0

    within(lecture)


def test_vote_request_with_a_wrong_method_size_or_type_is_rejected():
    async def lecture() -> None:
        async with hall() as place:
            for method, path, status in (
                ("POST", "/vote", 405),
                ("GET", "/vote/ballot", 405),
                ("HEAD", "/vote/act", 405),
            ):
                assert (await place.ask(method, path))[0] == status
            reader, writer = await asyncio.open_connection("127.0.0.1", place.port)
            writer.write(
                b"POST /vote/ballot HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 10000000\r\n\r\n"
            )
            assert b" 413 " in await reader.readline(), "a large body is not even read"
            writer.close()
            reader, writer = await asyncio.open_connection("127.0.0.1", place.port)
            writer.write(b"POST /vote/ballot HTTP/1.1\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}")
            assert b" 415 " in await reader.readline(), "a form of another site cannot send it"
            writer.close()

    within(lecture)


@pytest.mark.parametrize(
    "more",
    [
        {"choices": ["one"]},
        {"choices": [""] * 2},
        {"choices": ["same", "same"]},
        {"choices": [str(number) for number in range(9)]},
        {"question": ""},
        {"question": "x" * 401},
        {"act": "delete"},
    ],
    ids=range(7),
)
def test_invalid_question_is_rejected(more):
    async def lecture() -> None:
        async with hall() as place:
            assert (await place.act({**QUESTION, **more}))[0] == 400
            assert (await place.state())["status"] == "none"

    within(lecture)


def test_full_ballot_box_rejects_new_voters_but_accepts_changed_votes(monkeypatch):
    monkeypatch.setattr(ballot_box, "MAX_BALLOTS", 3)

    async def lecture() -> None:
        async with hall() as place:
            vote = (await place.act(QUESTION))[1]["vote"]
            assert [await place.vote(number, 0, vote) for number in range(4)] == [200, 200, 200, 503]
            assert await place.vote(1, 2, vote) == 200
            assert (await place.state(lecturer=True))["counts"] == [2, 0, 1]

    within(lecture)


def test_waiting_browsers_get_a_response_when_the_vote_changes(monkeypatch):
    async def lecture() -> None:
        async with hall() as place:
            vote = (await place.act(QUESTION))[1]["vote"]
            phone = asyncio.create_task(place.state(query=f"stage={vote}"))
            screen = asyncio.create_task(place.state(lecturer=True, query=f"stage={vote}&voters=0"))
            await asyncio.sleep(0.1)
            assert not phone.done() and not screen.done()
            await place.vote(1, 1, vote)
            assert (await screen)["counts"] == [0, 1, 0]
            assert not phone.done(), "a ballot changes nothing on a phone"
            await place.act({"act": "close"})
            assert (await phone)["status"] == "closed"
            monkeypatch.setattr(vote_endpoint, "MAX_WAITING", 0)
            assert (await place.state(query=f"stage={vote + 1}"))["status"] == "closed", (
                "a full endpoint answers at once"
            )

    within(lecture)


def test_phone_page_may_run_only_its_own_script():
    page, policy = phone_page()
    assert len(page) < 10_000 and b'<script type="module">' in page and b"vote/ballot" in page
    assert "default-src 'none'" in policy and "unsafe" not in policy
