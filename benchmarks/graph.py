"""Times the attribution graph of a word, and checks for many sentences that the contributions add up.

    python benchmarks/graph.py [--json FILE] [--sentences N]

The targets are at most one second and a relative error of at most 1e-4. `peak_memory.py` measures the memory for a
sentence of 60 words.
"""

import sys
from pathlib import Path
from time import process_time

import numpy as np

# Make imports from the repository work when Python runs this file by path.
ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.timing import Figure, command_line, figure, medians, show, write
from transformer.attribution.attribution import Target
from transformer.attribution.frozen_layers import FrozenRun
from transformer.attribution.graph import attribution_graph, prune, runner_up
from transformer.attribution.paths import path_effects
from transformer.running.translator import Translator

SENTENCES = ROOT / "assets" / "sentences.txt"
# The sentence has 12 words.
SENTENCE = "The old man was reading a newspaper in the garden this morning."


def figures(repeats: int, sentences: int = 100) -> dict[str, Figure]:
    """Return times for a 12-word sentence, and the largest relative error of a node or logit over all sentences.

    The times are for building the graph and for measuring the effect of cutting each path.
    """
    translator = Translator.load(device="cpu")
    weights = translator.weights()
    trace = translator.trace(SENTENCE, details=True)
    target = Target((5,), (runner_up(trace, 5),))
    graph = attribution_graph(FrozenRun(trace, weights), target)
    paths = graph.paths(prune(graph).edges)
    seconds = medians(
        {
            "graph": lambda: prune(attribution_graph(FrozenRun(trace, weights), target)),
            "cuts": lambda: path_effects(FrozenRun(trace, weights), target, paths),
        },
        repeats,
    )
    began = process_time()
    attribution_graph(FrozenRun(trace, weights), target)
    found = {
        "12 words: graph of a word": figure(seconds["graph"]),
        "12 words: graph of a word, CPU seconds": figure(process_time() - began),
        f"12 words: all {len(paths)} paths cut": figure(seconds["cuts"]),
    }
    show(found, "s")
    errors = [0.0]
    for text in SENTENCES.read_text(encoding="utf-8").splitlines()[:sentences]:
        each = translator.trace(text, details=True)
        position = len(each.predicted_tokens) // 2
        graph = attribution_graph(FrozenRun(each, weights), Target((position,), (runner_up(each, position),)))
        model = float(
            each.log_probs[position]
            - each.candidate_log_probs[position][list(each.candidate_ids[position]).index(runner_up(each, position))]
        )
        sizes = np.maximum(abs(graph.values), abs(graph.inflow) + abs(graph.biases)) + 1e-9
        errors += [float((graph.error() / sizes).max()), abs(graph.values[-1] - model) / max(1.0, abs(model))]
    exact = {f"{sentences} sentences: largest relative error of a node or logit": figure(max(errors))}
    show(exact, "")
    return found | exact


def main() -> None:
    arguments = command_line(__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--repeats", type=int, default=5, help="timed calls per function; the median is reported")
    arguments.add_argument("--sentences", type=int, default=100, help="sentences to check (default: %(default)s)")
    options = arguments.parse_args()
    write(options.json, figures(options.repeats, options.sentences))


if __name__ == "__main__":
    main()
