"""Measures a process's peak memory for head importance and for attribution, on a sentence of 60 words.

    python benchmarks/peak_memory.py [--json FILE]

Each row of the results is measured in a fresh process, on Linux. The memory includes Python, torch and the shipped
model. The target is at most 1,000 MB.
"""

import os
import subprocess
import sys
from argparse import SUPPRESS
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Make imports from the repository work when Python runs this file by path.
sys.path.insert(0, str(ROOT))

from benchmarks.server import memory
from benchmarks.timing import Figure, command_line, figure, show, write
from transformer.ablation.importance import head_importance
from transformer.attribution.attribution import METHODS, Target, whole_sentence
from transformer.attribution.frozen_layers import FrozenRun
from transformer.attribution.graph import attribution_graph
from transformer.running.translator import Translator

SENTENCE = (
    "When the man who had lived in the house at the end of the street for forty years heard that the school "
    "where he once taught was going to be closed in summer, he put on his best coat, took his dog, and walked through "
    "the rain to the mayor, who had been one of his students many years ago."
)
NOTHING, BOARD, EVERYTHING = "the model and one trace", "head importance", "head importance, graph and every method"
GRAPH = "the attribution graph"
PARTS = (NOTHING, BOARD, GRAPH, *METHODS, EVERYTHING)


def compute(part: str) -> None:
    """Run the computation for one row of the results. If `part` is an attribution method, explain one word, and then
    the whole sentence.
    """
    translator = Translator.load(device="cpu")
    trace = translator.trace(SENTENCE, details=True)
    if part in (BOARD, EVERYTHING):
        head_importance(translator, SENTENCE)
    if part in (GRAPH, EVERYTHING):
        attribution_graph(FrozenRun(trace, translator.weights()), Target((len(trace.predicted_tokens) - 2,)))
    for target in (Target((len(trace.predicted_tokens) // 2,)), whole_sentence(trace)):
        for method in METHODS:
            if part in (method, EVERYTHING):
                translator.attribute(trace, method, [target])


def figures() -> dict[str, Figure]:
    """Return the peak memory of each computation in MB, and print each as soon as it is measured."""
    print(f"Peak memory of each computation's process, for a sentence of {len(SENTENCE.split())} words:")
    found: dict[str, Figure] = {}
    for part in PARTS:
        command = [sys.executable, __file__, "--part", part]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        answer = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        row = {f"60 words: {part}": figure(float(answer.stdout))}
        show(row, "MB")
        found |= row
    return found


def main() -> None:
    arguments = command_line(__doc__.splitlines()[0])
    arguments.add_argument("--part", choices=PARTS, help=SUPPRESS)
    options = arguments.parse_args()
    if options.part:
        compute(options.part)
        # Read VmHWM, because getrusage may report the peak of the parent process.
        print(memory(os.getpid(), "VmHWM"))
        return
    write(options.json, figures())


if __name__ == "__main__":
    main()
