"""Measures how much memory the server uses after many different sentences.

    python benchmarks/memory.py [--sentences N] [--page PAGE] [--views N]

Starts the app and opens many URLs with different sentences of up to 100 words. At regular intervals, the script pauses
for several seconds and prints the memory of the process. The target is a growth of at most 200 MB after the first
hundred sentences. One user in five requests a beam search of maximum size, which takes the most memory. All others
decode with the page's defaults.

With `--views 1`, every view belongs to a new user, who then leaves. Streamlit keeps up to 128 sessions of such users
for two minutes, and only this option shows how much memory their pages take.
"""

import argparse
import asyncio
import random
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Make imports from the repository work when Python runs this file by path.
sys.path.insert(0, str(ROOT))

from benchmarks.server import memory, server
from benchmarks.visitor import visitor
from pages.ui.params.pages import FIRST
from pages.ui.params.pages import PAGES as REGISTERED
from transformer.serving.server_process import RELEASE_INTERVAL
from transformer.values.decoding_settings import MAX_BEAM_SIZE

# URL paths of the pages, except those that need no model and therefore read no sentence.
PAGES = tuple("" if page.name == FIRST else page.name for page in REGISTERED.values() if page.needs != "nothing")
VIEWS = 20
# One in every SEARCHES users requests a beam search of maximum size.
SEARCHES = 5
SETTLED = 100
LONGEST = 100
# Seconds to pause, long enough for the memory of the last run to be returned to the operating system.
REST = 1.5 * RELEASE_INTERVAL


def sentences(count: int) -> list[str]:
    """Return random sentences of 3 to LONGEST words, most of them short."""
    words = (ROOT / "assets" / "sentences.txt").read_text(encoding="utf-8").split()
    dice = random.Random(1)
    lengths = [min(LONGEST, 3 + int(dice.expovariate(1 / 12))) for _ in range(count)]
    return [" ".join(dice.choices(words, k=length)) for length in lengths]


async def visit(address: str, process: int, texts: list[str], pages: tuple[str, ...], views: int) -> None:
    settled, said = 0.0, max(VIEWS, len(texts) // 10 // VIEWS * VIEWS)
    for first in range(0, len(texts), views):
        search = {} if first // views % SEARCHES else {"method": "beam", "beam_size": str(MAX_BEAM_SIZE)}
        async with visitor(address) as person:
            for number, text in enumerate(texts[first : first + views], first):
                # The language model's pages read the text from another URL parameter.
                try:
                    await person.open(pages[number % len(pages)], text=text, lm_text=text, **search)
                except RuntimeError as error:
                    print(f"{text!r}: {error}", file=sys.stderr)
                    break
        done = min(first + views, len(texts))
        if (done <= SETTLED and done % VIEWS == 0) or done % said == 0 or done == len(texts):
            await asyncio.sleep(REST)
            resident = memory(process, "VmRSS")
            settled = resident if done <= SETTLED else settled
            print(f"{done:>8} sentences{resident:>10,.0f} MB{resident - settled:>+10,.0f} MB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=1_000, metavar="N")
    parser.add_argument("--page", choices=PAGES, nargs="+", default=PAGES, help="pages to open in turn, by URL path")
    parser.add_argument(
        "--views",
        type=int,
        default=VIEWS,
        metavar="N",
        help="views per user, before a new user connects (default: %(default)s)",
    )
    arguments = parser.parse_args()
    with server() as (address, process, _):
        asyncio.run(visit(address, process, sentences(arguments.sentences), tuple(arguments.page), arguments.views))


if __name__ == "__main__":
    main()
