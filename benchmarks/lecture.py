"""Simulates a lecture: measures how long users wait when many of them use the app at the same time.

    python benchmarks/lecture.py [--processes N] [--people N ...] [--mix NAME ...] [--seconds N] [--json FILE]

This benchmark needs two idle cores, and uses part of one itself. Without --processes, the app starts as many processes
as `attention-atlas --lecture` would on this machine. With --processes 1, it starts a single process, as `streamlit run`
does.

All users arrive within five seconds. Each user sends a request every ten seconds, or later if the previous answer takes
longer. Users do not wait for each other. Otherwise, requests would never overlap, and the app would look fast. An
answer is complete when the script run for the request has ended. The page must then show the requested head, and the
translation that a freshly loaded model writes for that user's sentence.

    link:    every ten seconds the lecturer shows another link, and all users open it
    own:     each user types their own sentences
    heads:   each user has a sentence, and clicks through its heads and from page to page
    arrival: `own` twice on one server, first right after the start and then with new users
    vote:    each user votes on a phone, once per question; an answer is complete when the lecturer's bar has risen
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import statistics
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

# Make imports from the repository work when Python runs this file by path.
sys.path.insert(0, str(Path(__file__).parents[1]))

from websockets.exceptions import WebSocketException

from attention_atlas.app_processes import default_process_count
from benchmarks.lecture_vote import votes
from benchmarks.server import memory, processor, server
from benchmarks.timing import command_line, figure, percentile, write
from benchmarks.visitor import visitor

if TYPE_CHECKING:
    from transformer.running.translator import Translator

ARRIVAL = 5.0
EVERY = 10.0
# Timeout for a user's whole visit, in seconds.
PATIENCE = 300.0
# All sentences are distinct and have 12 to 15 words.
SENTENCES = [
    f"{who} {did} {what} {where} {when} because {why}."
    for who, did, what, where, when, why in itertools.product(
        ("My brother", "The teacher", "Our neighbour", "The old man", "Her little sister"),
        ("read", "found", "forgot", "wanted", "sold"),
        ("the book", "a letter", "his bicycle", "the red car"),
        ("in town", "at home", "at school"),
        ("yesterday", "today", "last week"),
        ("it was cold", "he was tired", "she was happy", "they had time"),
    )
]
# Pages that `heads` opens, in order, each with the key of the page's attention browser, or None.
TOUR = (
    ("cross_attention", "cross_browser"),
    ("encoder_attention", "encoder_browser"),
    ("masked_attention", "decoder_browser"),
    ("decoding", None),
    ("compare_heads", None),
)
HEADS_A_PAGE = 2


class Answer(NamedTuple):
    """One answer that a simulated user received.

    Attributes:
        seconds: time until the answer was complete.
        text: sentence that the user requested.
        head: requested layer and head, 0-based; None if no head was requested.
        words: all text on the page.
    """

    seconds: float
    text: str
    head: tuple[int, int] | None
    words: list[str]


@dataclass
class Measured:
    """Measurements from one lecture.

    Attributes:
        opened: seconds until each user's first page was complete.
        answers: all later answers.
        errors: descriptions of failed requests.
    """

    opened: list[float] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


Mix = Callable[[str, int, int, Measured], AsyncGenerator[None]]


async def link(address: str, number: int, people: int, measured: Measured) -> AsyncGenerator[None]:
    """Open the lecturer's links one after another, each as a new user."""
    for text in random.Random(people).sample(SENTENCES, len(SENTENCES)):
        async with visitor(address) as person:
            began = time.perf_counter()
            await person.open("cross_attention", text=text)
            measured.answers.append(Answer(time.perf_counter() - began, text, None, list(person.words)))
        yield


async def own(address: str, number: int, people: int, measured: Measured) -> AsyncGenerator[None]:
    """Simulate a user who types sentences that no other user types."""
    async with visitor(address) as person:
        began = time.perf_counter()
        await person.open()
        measured.opened.append(time.perf_counter() - began)
        for text in random.Random(people).sample(SENTENCES, len(SENTENCES))[number::people]:
            began = time.perf_counter()
            await person.submit(text)
            measured.answers.append(Answer(time.perf_counter() - began, text, None, list(person.words)))
            yield


async def heads(address: str, number: int, people: int, measured: Measured) -> AsyncGenerator[None]:
    """Click on heads for one sentence, and go from page to page."""
    dice, text = random.Random(number), SENTENCES[number]
    async with visitor(address) as person:
        began = time.perf_counter()
        await person.open(TOUR[0][0], text=text)
        measured.opened.append(time.perf_counter() - began)
        for page, browser in itertools.cycle(TOUR):
            clicks = [(dice.randrange(6), dice.randrange(8)) for _ in range(HEADS_A_PAGE)] if browser else []
            for head in (None, *clicks):
                began = time.perf_counter()
                if head is None:
                    await person.turn_to(page)
                else:
                    await person.choose(browser, layer=head[0], head=head[1])
                measured.answers.append(Answer(time.perf_counter() - began, text, head, list(person.words)))
                yield


MIXES: dict[str, Mix] = {"link": link, "own": own, "heads": heads, "arrival": own}


async def sit(mix: Mix, address: str, number: int, people: int, lasts: float, measured: Measured) -> None:
    """Simulate one user, who opens the app and then sends requests at a steady pace, regardless of the other users."""
    await asyncio.sleep(random.Random(number).uniform(0, ARRIVAL))
    came = began = time.perf_counter()
    try:
        async with asyncio.timeout(PATIENCE), aclosing(mix(address, number, people, measured)) as wishes:
            async for _ in wishes:
                await asyncio.sleep(max(0.0, began + EVERY - time.perf_counter()))
                began = time.perf_counter()
                if began - came > lasts:
                    break
    except (OSError, TimeoutError, KeyError, RuntimeError, WebSocketException) as error:
        measured.errors.append(f"{type(error).__name__}: {error}")


async def lecture(mix: Mix, address: str, people: int, lasts: float, part: int = 0, parts: int = 1) -> Measured:
    """Simulate one part of a lecture for `lasts` seconds, with `people` new users and new sentences.

    Return the measurements. `part` is the part's 0-based number; `parts` is the number of parts.
    """
    measured = Measured()
    async with asyncio.TaskGroup() as hall:
        for number in range(part * people, (part + 1) * people):
            hall.create_task(sit(mix, address, number, parts * people, lasts, measured))
    return measured


def wrong(answers: list[Answer]) -> list[str]:
    """Return descriptions of the answers that do not match their requests."""
    return [
        f"{answer.text} {answer.head}"
        for answer in answers
        if not any(translation(answer.text) in shown for shown in answer.words)
        or answer.head is not None
        and not any(f"layer {answer.head[0] + 1}, head {answer.head[1] + 1}" in shown for shown in answer.words)
    ]


@cache
def translation(text: str) -> str:
    return fresh_model().translate(text).text


@cache
def fresh_model() -> Translator:
    from transformer.model.devices import use_one_thread
    from transformer.running.translator import Translator

    use_one_thread()
    return Translator.load(device="cpu")


def measure(mix: str, people: int, lasts: float, processes: int) -> dict[str, float]:
    """Simulate a lecture on a freshly started server; return the measurements by description."""
    if mix == "vote":
        # The vote endpoint runs in the proxy, which exists only if there are several app processes.
        return votes(people, lasts, max(2, processes))
    with server(processes) as (address, process, _):
        if mix == "arrival":
            return {
                f"{when}, {name}": value
                for part, when in enumerate(("cold", "warm"))
                for name, value in figures(MIXES[mix], address, process, people, lasts, part, 2).items()
            }
        return figures(MIXES[mix], address, process, people, lasts)


def figures(
    mix: Mix, address: str, process: int, people: int, lasts: float, part: int = 0, parts: int = 1
) -> dict[str, float]:
    """Run a lecture on a server. Return a dictionary from descriptions to times, memory and processor use.

    Args:
        mix: what the users do.
        address: host and port of the server.
        process: process id of the server.
        people: number of users.
        lasts: duration in seconds.
        part, parts: as in `lecture`.
    """
    before, used, own_use = memory(process, "VmRSS"), processor(process), time.process_time()
    began = time.perf_counter()
    measured = asyncio.run(lecture(mix, address, people, lasts, part, parts))
    took, used = time.perf_counter() - began, processor(process) - used
    own_use = time.process_time() - own_use
    peak, after = memory(process, "VmHWM"), memory(process, "VmRSS")
    lost = wrong(measured.answers)
    for line in (*measured.errors, *lost):
        print(line, file=sys.stderr)
    found = {"errors": len(measured.errors), "wrong answers": len(lost), "answers": len(measured.answers)}
    for what, seconds in (("first page", measured.opened), ("answer", [answer.seconds for answer in measured.answers])):
        if seconds:
            found |= {
                f"{what} p50, s": statistics.median(seconds),
                f"{what} p95, s": percentile(seconds),
                f"{what} maximum, s": max(seconds),
            }
    cores = len(os.sched_getaffinity(0))
    return found | {
        "answers per second": len(measured.answers) / took,
        "CPU time per answer, s": used / len(measured.answers),
        "processor use by the app, %": 100 * used / took / cores,
        "processor use by this program, %": 100 * own_use / took / cores,
        "memory before, MB": before,
        "memory at the peak, MB": peak,
        "memory after, MB": after,
    }


def main() -> None:
    parser = command_line(__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, nargs="+", default=[1, 10, 30, 100], metavar="N")
    parser.add_argument("--mix", choices=[*MIXES, "vote"], nargs="+", default=[*MIXES, "vote"])
    parser.add_argument("--seconds", type=float, default=60.0, help="how long each user stays, in seconds")
    parser.add_argument("--processes", type=int, default=default_process_count(), metavar="N", help="app processes")
    arguments = parser.parse_args()
    found = {}
    for mix, people in itertools.product(arguments.mix, arguments.people):
        for name, value in measure(mix, people, arguments.seconds, arguments.processes).items():
            what = f"{mix}, {people} people: {name}"
            found[what] = figure(value)
            print(f"{what:68}{value:>12,.2f}", flush=True)
    write(arguments.json, found)


if __name__ == "__main__":
    main()
