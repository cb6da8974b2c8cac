"""Measures the time from a vote on a phone until the bar on the lecturer's page rises, for benchmarks/lecture.py."""

import asyncio
import json
import os
import random
import re
import statistics
import time
from dataclasses import dataclass, field
from typing import Any

from benchmarks.server import memory, processor, server
from benchmarks.timing import percentile

# WITHIN: seconds within which all users vote. PAUSE: seconds between
# two requests from the lecturer's page, as in assets/lecture/vote.js.
WITHIN, PAUSE = 5.0, 0.15
PATIENCE = 120.0
CHOICES = ("weil", "da", "denn", "obwohl")


@dataclass
class Screen:
    """The lecturer's page, which records when the bars first showed each number of voters."""

    shown: list[float] = field(default_factory=list)
    voters: int = 0
    stage: int = 0


async def ask(address: str, method: str, path: str, body: object = None, cookie: str = "") -> tuple[str, Any]:
    """Send an HTTP request; return the head and the parsed body of the response."""
    host, _, port = address.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    sent = b"" if body is None else json.dumps(body).encode()
    head = [f"{method} {path} HTTP/1.1", f"Host: {address}", f"Cookie: {cookie}"]
    if body is not None:
        head += ["Content-Type: application/json", f"Content-Length: {len(sent)}"]
    writer.write("\r\n".join([*head, "\r\n"]).encode() + sent)
    answer, _, text = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    return answer.decode(), json.loads(text) if b"application/json" in answer else text


async def watch(address: str, cookie: str, screen: Screen) -> None:
    """Keep requesting the counts, as the lecturer's page does."""
    while True:
        query = f"stage={screen.stage}&voters={screen.voters}"
        _, state = await ask(address, "GET", f"/vote/state?{query}", cookie=cookie)
        screen.stage, screen.voters = state["stage"], state["voters"]
        screen.shown += [time.perf_counter()] * (screen.voters - len(screen.shown))
        await asyncio.sleep(PAUSE)


async def phone(address: str, number: int, vote: int) -> tuple[float, float]:
    """Open the page, wait for changes and vote, as a phone does; return the times of sending and acceptance."""
    dice = random.Random(number)
    await ask(address, "GET", "/vote")
    waits = asyncio.create_task(ask(address, "GET", f"/vote/state?stage={vote}"))
    await asyncio.sleep(dice.uniform(0, WITHIN))
    began = time.perf_counter()
    ballot = {"vote": vote, "voter": f"{number:032x}", "choice": dice.randrange(len(CHOICES))}
    head, _ = await ask(address, "POST", "/vote/ballot", ballot)
    if " 200 " not in head.partition("\r\n")[0]:
        raise RuntimeError(head)
    ended = time.perf_counter()
    await waits
    return began, ended


async def question(address: str, cookie: str, people: int) -> list[float]:
    """Let all users vote on one question; return the seconds until each vote raised the bar on the lecturer's page."""
    act = {"act": "open", "question": "What comes next?", "choices": CHOICES}
    _, opened = await ask(address, "POST", "/vote/act", act, cookie)
    screen = Screen(stage=opened["stage"])
    watching = asyncio.create_task(watch(address, cookie, screen))
    phones = [asyncio.create_task(phone(address, number, opened["vote"])) for number in range(people)]
    while len(screen.shown) < people:
        await asyncio.sleep(0.05)
    await ask(address, "POST", "/vote/act", {"act": "close"}, cookie)
    sent = sorted(await asyncio.gather(*phones), key=lambda times: times[1])
    watching.cancel()
    # The server counts ballots in the order in which it accepts them, so both lists have the same order.
    return [shown - began for (began, _), shown in zip(sent, screen.shown, strict=True)]


def votes(people: int, lasts: float, processes: int) -> dict[str, float]:
    """Run votes one after another for `lasts` seconds on a freshly started server.

    Return how long a vote takes to appear on the lecturer's page, and the server's memory and processor use.
    """
    with server(processes) as (address, process, printed):
        deadline = time.monotonic() + PATIENCE
        while (found := re.search(r"/vote/lecturer\?\S+", printed())) is None:
            if time.monotonic() > deadline:
                raise RuntimeError(f"the server printed no URL for the lecturer within {PATIENCE:.0f} s")
            time.sleep(0.1)
        path = found[0]

        async def lecture() -> list[float]:
            head, _ = await ask(address, "GET", path)
            cookie, times = head.partition("Set-Cookie: ")[2].partition(";")[0], []
            while time.perf_counter() - began < lasts:
                async with asyncio.timeout(PATIENCE):
                    times += await question(address, cookie, people)
            return times

        before, used, began = memory(process, "VmRSS"), processor(process), time.perf_counter()
        times = asyncio.run(lecture())
        took, used = time.perf_counter() - began, processor(process) - used
        return {
            "votes": len(times),
            "vote until shown p50, s": statistics.median(times),
            "vote until shown p95, s": percentile(times),
            "vote until shown maximum, s": max(times),
            "CPU time per vote, s": used / len(times),
            "processor use by the app, %": 100 * used / took / len(os.sched_getaffinity(0)),
            "memory before, MB": before,
            "memory after, MB": memory(process, "VmRSS"),
        }
