"""Times several functions in turn, reports the results, and defines the command line of all benchmarks."""

import json
import statistics
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter

# Keys: "ours", "peer", their "ratio", and "peer_name"; without a peer, the last three are None.
Figure = dict[str, float | str | None]


def command_line(about: str | None) -> ArgumentParser:
    """Return an argument parser with the benchmark's description and the option --json."""
    parser = ArgumentParser(description=about, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the measurements to this file")
    return parser


def write(file: Path | None, figures: Mapping[str, object]) -> None:
    """Write the measurements to a JSON file, unless `file` is None."""
    if file:
        file.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def medians(runs: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return each function's median time in seconds.

    The functions take turns, so that other load on the machine affects all of them.
    """
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
    """Return the 95th percentile, or the largest value if there are fewer than 20 values."""
    return sorted(values)[-(-95 * len(values) // 100) - 1]


def figure(own: float, peer: float | None = None, name: str | None = None) -> Figure:
    """Return one row of the results, as stored in the JSON file."""
    return {"ours": own, "peer": peer, "ratio": own / peer if peer else None, "peer_name": name}


def show(figures: dict[str, Figure], unit: str) -> None:
    for name, each in figures.items():
        line = f"{name:58} {each['ours']:9.4g} {unit}"
        if each["ratio"] is not None:
            line += f"   {each['peer']:9.4g} {unit}   ratio {each['ratio']:.2f}   {each['peer_name']}"
        print(line, flush=True)
