"""Times every attribution method on one translation: in this project and, if available, in captum and inseq.

    pip install -r benchmarks/requirements.txt
    python benchmarks/attributions.py [--json FILE]

The sentence has 12 words, and each duration includes the model run to be explained. The benchmark first times each
method, and all methods together, on the shipped model. It then uses a model of the same size with random weights, saved
in this project's format and as a Hugging Face Marian model. captum and inseq need this second model, because Marian is
post-norm and the shipped model is pre-norm. The word explained in the second model has two tokens, because inseq needs
at least two. Before timing the second model, the benchmark checks that this project and captum agree on integrated
gradients and erasure.

Some rows compare two different computations. Only this project has frozen gradients; captum and inseq compute input x
gradient instead, which also takes one backward pass. inseq's occlusion sets an embedding to 0, while erasure here hides
the token. captum and inseq compute integrated gradients with their default of 50 steps. This project doubles its
number of steps, up to 256, until the error of the scores' sum is small enough: at most 5% of the change in
log-probability, or 0.05 nats if the change is smaller than 1 nat. The benchmark prints the errors. Neither captum nor
inseq has norms, rollout or ALTI. Run this benchmark on idle cores.
"""

import logging
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
import transformers

# Make imports from the repository work when Python runs this file by path.
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.attribution_peers import CAPTUM, INSEQ, SENTENCE, TRANSLATION, Marian, by_captum, by_inseq
from benchmarks.timing import Figure, command_line, figure, medians, show, write
from transformer.attribution.attribution import METHODS, Attribution, Method, Target, every_position, whole_sentence
from transformer.running.translator import Translator


def from_text(
    translator: Translator, methods: Sequence[Method], translation: str | None, targets: Sequence[Target]
) -> list[Attribution]:
    trace = translator.trace(SENTENCE, translation, details=True)
    return [translator.attribute(trace, method, targets) for method in methods]


def compare(marian: Marian) -> None:
    """Check that this project and captum agree, and print the integration errors of both."""
    positions = list(marian.word())
    found = {
        method: marian.translator.attribute(marian.trace, method, [Target((position,)) for position in positions])
        for method in ("integrated_gradients", "erasure")
    }
    peer = by_captum(marian)
    for row, (integrals, erased) in enumerate(
        zip(peer["integrated_gradients"](positions), peer["erasure"](positions), strict=True)
    ):
        error = abs(float(sum(part.sum() for part in integrals)) - float(found["integrated_gradients"].total[row]))
        print(
            f"integrated gradients of token {row + 1} of the word: their sum is off by "
            f"{found['integrated_gradients'].error()[row]:.4f} in this project and by {error:.4f} in {CAPTUM}"
        )
        for method, theirs in (("integrated_gradients", integrals), ("erasure", erased)):
            ours = torch.from_numpy(found[method].source[row].copy())
            limit = 0.05 if method == "integrated_gradients" else 1e-4
            assert (ours - theirs[0][0]).abs().max() < limit, method


def figures(repeats: int) -> dict[str, Figure]:
    """Return the time of each attribution in seconds, and print it as soon as it is measured."""
    shipped = Translator.load(device="cpu")
    trace = shipped.trace(SENTENCE)
    # The explained word is one token in the middle of the model's own translation.
    explained = {"one word": Target((len(trace.predicted_tokens) // 2,)), "the whole sentence": whole_sentence(trace)}
    print(f"12 words, {len(trace.source_tokens)} x {len(trace.predicted_tokens)} tokens; the shipped model")
    found: dict[str, Figure] = {}
    for what, target in explained.items():
        runs: dict[str, Callable[[], object]] = {
            name: lambda methods=methods, target=target: from_text(shipped, methods, None, [target])
            for name, methods in [("all", list(METHODS)), *((name, [name]) for name in METHODS)]
        }
        rows = {f"{what}: {name}": figure(time) for name, time in medians(runs, repeats).items()}
        show(rows, "s")
        found |= rows
    with tempfile.TemporaryDirectory() as folder:
        marian = Marian.write(Path(folder))
        print(
            f"12 words, {len(marian.trace.source_tokens)} x {len(marian.trace.predicted_tokens)} tokens; the "
            f"same random weights here and in Hugging Face {transformers.__version__}"
        )
        compare(marian)
        explained = {"a word of two tokens": marian.word(), "each token": range(len(marian.trace.predicted_tokens))}
        for what, positions in explained.items():
            for name, explain in ((CAPTUM, by_captum(marian)), (INSEQ, by_inseq(marian))):
                for method, theirs in explain.items():
                    targets = [every_position(marian.trace)[position] for position in positions]
                    both = medians(
                        {
                            "ours": lambda method=method, targets=targets: from_text(
                                marian.translator, [method], TRANSLATION, targets
                            ),
                            "theirs": lambda theirs=theirs, positions=positions: theirs(positions),
                        },
                        repeats,
                    )
                    row = {f"{what}: {method}, {name.split()[0]}": figure(both["ours"], both["theirs"], name)}
                    show(row, "s")
                    found |= row
    return found


def main() -> None:
    arguments = command_line(__doc__.splitlines()[0])
    arguments.add_argument("--repeats", type=int, default=3, help="timed calls per function; the median is reported")
    options = arguments.parse_args()
    quiet()
    print(f"{torch.get_num_threads()} threads, torch {torch.__version__}; median of {options.repeats} calls")
    write(options.json, figures(options.repeats))


def quiet() -> None:
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    warnings.simplefilter("ignore")
    logging.getLogger("inseq").setLevel(logging.ERROR)


if __name__ == "__main__":
    main()
