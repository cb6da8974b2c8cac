"""Seconds of contenders that take turns, and what is written of them; what every benchmark's command line has."""

from __future__ import annotations

import json
import statistics
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter

# "ours", "peer", their "ratio" and "peer_name"; what has no peer has None three times.
Figure = dict[str, float | str | None]


def command_line(about: str | None) -> ArgumentParser:
    """A command line that says what the benchmark is about, and takes the file that its figures go into."""
    parser = ArgumentParser(description=about, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file")
    return parser


def write(file: Path | None, figures: Mapping[str, object]) -> None:
    """Write the figures, if somebody has named a file for them."""
    if file:
        file.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def medians(runs: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median seconds of each; they take turns, so that a busy moment of the machine hits all alike."""
    for run in runs.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            began = perf_counter()
            run()
            seconds[name].append(perf_counter() - began)
    return {name: statistics.median(times) for name, times in seconds.items()}


def percentile(values: Sequence[float]) -> float:
    """The 95th, or the largest of fewer than 20."""
    return sorted(values)[-(-95 * len(values) // 100) - 1]


def figure(own: float, peer: float | None = None, name: str | None = None) -> Figure:
    """One line of a table, as it goes into a file."""
    return {"ours": own, "peer": peer, "ratio": own / peer if peer else None, "peer_name": name}


def show(figures: dict[str, Figure], unit: str) -> None:
    """Print them, a line each."""
    for name, each in figures.items():
        line = f"{name:58} {each['ours']:9.4g} {unit}"
        if each["ratio"] is not None:
            line += f"   {each['peer']:9.4g} {unit}   ratio {each['ratio']:.2f}   {each['peer_name']}"
        print(line, flush=True)
