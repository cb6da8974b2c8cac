"""Times every attribution method on one translation, and compares it with captum and inseq where they have the method.

    pip install -r benchmarks/requirements.txt
    python benchmarks/attributions.py [--json FILE]

The sentence has 12 words, and every time includes the run that is explained. The first part times the shipped model
with each method and with all methods together. The second part times a model of the same sizes with random weights,
which also exists as Hugging Face's Marian. captum and inseq explain this second model, because Marian normalises after
its sub-layers and the shipped model before them. The explained word has two tokens there, because inseq explains at
least two. Results that two libraries should compute alike are compared before they are timed.

Some rows compare two different computations. Only this project has frozen gradients; input x gradient also takes one
backward pass. inseq's occlusion sets an embedding to 0, and erasure hides the token. The peers' integrated gradients
take 50 steps, their default. Here they take as many as bring the error of the sum below a twentieth, and the errors are
printed. Neither peer has norms, rollout or ALTI. Run it on idle cores.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import torch
import transformers
from captum.attr import FeatureAblation, InputXGradient, IntegratedGradients
from torch import Tensor

# If Python runs this file by its path, it finds only modules of this folder.
sys.path.insert(0, str(Path(__file__).parents[1]))
# Set before the import of inseq, which must not look for models on a network.
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import inseq

from benchmarks.timing import Figure, command_line, figure, medians, show, write
from transformer.attribution.attribution import METHODS, Attribution, Method, Target, every_position, whole_sentence
from transformer.checkpoints.checkpoint import load_checkpoint
from transformer.checkpoints.model_files import save_model
from transformer.checkpoints.model_texts import CARD
from transformer.interop.exporter import export_huggingface
from transformer.model.transformer import build
from transformer.running.translator import MODEL, Translator
from transformer.text.languages import write_languages
from transformer.values.trace import Trace

SENTENCE = "The old man who lives next door gave his dog a bone."
TRANSLATION = "Der alte Mann, der nebenan wohnt, gab seinem Haustier einen Knochen."
WORD = "Haustier"
# Steps of the peers' integrated gradients.
STEPS = 50
CAPTUM, INSEQ = f"captum {version('captum')}", f"inseq {version('inseq')}"
# A peer's function, which explains some predicted tokens, one at a time.
Explain = Callable[[Sequence[int]], object]


@dataclass(frozen=True, eq=False)
class Marian:
    """One model with random weights, as this project's and as Hugging Face's, and its reading of the translation.

    Attributes:
        translator, trace: this project's model and its trace.
        model, tokenizer: Hugging Face's model and tokenizer.
        source, prefix: embeddings without positions, [1, S, D] and [1, T, D], as its model takes them.
    """

    translator: Translator
    trace: Trace
    model: transformers.MarianMTModel
    tokenizer: transformers.MarianTokenizer
    source: Tensor
    prefix: Tensor

    @classmethod
    def write(cls, folder: Path) -> Marian:
        """Build a model with the shipped sizes and vocabulary from files in its format."""
        shipped = load_checkpoint(MODEL)
        config = replace(shipped.model.config, norm="post")
        torch.manual_seed(1)
        ours, theirs = folder / "ours", folder / "theirs"
        save_model(ours, config, dict(build(config).named_parameters()), shipped.tokenizer)
        write_languages(ours, shipped.languages)
        (ours / CARD).write_text("", encoding="utf-8")
        export_huggingface(ours, theirs)
        translator = Translator.load(ours, "cpu")
        trace = translator.trace(SENTENCE, TRANSLATION, details=True)
        # inseq needs the attention weights, which only the eager implementation returns.
        model = transformers.MarianMTModel.from_pretrained(theirs, attn_implementation="eager").eval()
        model.requires_grad_(False)
        source, prefix = (
            torch.tensor([[token.id for token in tokens]]) for tokens in (trace.source_tokens, trace.target_tokens)
        )
        encoder, decoder = model.get_encoder(), model.get_decoder()
        # Marian's decoder scales its embeddings itself, but its encoder does not.
        return cls(
            translator,
            trace,
            model,
            transformers.MarianTokenizer.from_pretrained(theirs),
            encoder.embed_tokens(source) * encoder.embed_scale,
            decoder.embed_tokens(prefix),
        )

    def word(self) -> range:
        """Return the positions of the predicted tokens of WORD."""
        start = TRANSLATION.index(WORD)
        inside = [
            position
            for position, token in enumerate(self.trace.predicted_tokens)
            if token.span is not None and token.span[0] < start + len(WORD) and token.span[1] > start
        ]
        return range(inside[0], inside[-1] + 1)

    def score(self, position: int, *, log_probs: bool, **inputs: Tensor) -> Tensor:
        """Return the model's log-probability of the token predicted at a position, [B]."""
        logits = self.model(**inputs, use_cache=False).logits[:, position]
        scores = logits.log_softmax(dim=-1) if log_probs else logits
        return scores[:, self.trace.predicted_tokens[position].id]


def by_captum(marian: Marian) -> dict[Method, Explain]:
    """captum on Hugging Face's model; each explanation is a list with the source's and the prefix's scores."""

    def gradients(position: int, *, log_probs: bool) -> Callable[[Tensor, Tensor], Tensor]:
        return lambda source, prefix: marian.score(
            position, log_probs=log_probs, inputs_embeds=source, decoder_inputs_embeds=prefix
        )

    def embeddings(position: int) -> tuple[Tensor, Tensor]:
        return marian.source, marian.prefix[:, : position + 1]

    def integrated(positions: Sequence[int]) -> list[list[Tensor]]:
        return [
            [
                part.sum(dim=-1)
                for part in IntegratedGradients(gradients(position, log_probs=True)).attribute(
                    embeddings(position), n_steps=STEPS
                )
            ]
            for position in positions
        ]

    def input_x_gradient(positions: Sequence[int]) -> list[list[Tensor]]:
        return [
            [
                part.sum(dim=-1)
                for part in InputXGradient(gradients(position, log_probs=False)).attribute(
                    tuple(part.clone().requires_grad_() for part in embeddings(position))
                )
            ]
            for position in positions
        ]

    def ablation(positions: Sequence[int]) -> list[tuple[Tensor, ...]]:
        source, prefix = (
            torch.tensor([[token.id for token in tokens]])
            for tokens in (marian.trace.source_tokens, marian.trace.target_tokens)
        )

        def visible(position: int) -> Callable[[Tensor, Tensor], Tensor]:
            def log_prob(source_mask: Tensor, prefix_mask: Tensor) -> Tensor:
                rows = len(source_mask)
                return marian.score(
                    position,
                    log_probs=True,
                    input_ids=source.expand(rows, -1),
                    attention_mask=source_mask,
                    decoder_input_ids=prefix[:, : position + 1].expand(rows, -1),
                    decoder_attention_mask=prefix_mask,
                )

            return log_prob

        with torch.inference_mode():
            return [
                FeatureAblation(visible(position)).attribute(
                    (torch.ones(1, source.shape[1]), torch.ones(1, position + 1)), perturbations_per_eval=STEPS
                )
                for position in positions
            ]

    return {"frozen_gradient": input_x_gradient, "integrated_gradients": integrated, "erasure": ablation}


def by_inseq(marian: Marian) -> dict[Method, Explain]:
    """inseq on Hugging Face's model: its own loop over the tokens."""
    log_prob = {"attributed_fn": "probability", "logprob": True}
    calls: dict[Method, tuple[str, dict[str, object]]] = {
        "weights": ("attention", {}),
        "frozen_gradient": ("input_x_gradient", {"attributed_fn": "logit"}),
        "integrated_gradients": ("integrated_gradients", {"n_steps": STEPS, **log_prob}),
        "erasure": ("occlusion", log_prob),
    }

    def explain(name: str, settings: dict[str, object]) -> Explain:
        model = inseq.load_model(marian.model, name, tokenizer=marian.tokenizer)

        def attributed(positions: Sequence[int]) -> object:
            # inseq's positions count the start symbol, and its last position is included.
            return model.attribute(
                SENTENCE,
                TRANSLATION,
                attribute_target=True,
                show_progress=False,
                attr_pos_start=positions[0] + 1,
                attr_pos_end=positions[-1] + 1,
                **settings,
            )

        return attributed

    return {method: explain(*call) for method, call in calls.items()}


def from_text(
    translator: Translator, methods: Sequence[Method], translation: str | None, targets: Sequence[Target]
) -> list[Attribution]:
    """Trace the sentence and return this project's attributions for it."""
    trace = translator.trace(SENTENCE, translation, details=True)
    return [translator.attribute(trace, method, targets) for method in methods]


def compare(marian: Marian) -> None:
    """Check that both models and captum give the same results, and print the errors of the integrals."""
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
            f"{found['integrated_gradients'].error()[row]:.4f} here, by {error:.4f} in {CAPTUM}"
        )
        for method, theirs in (("integrated_gradients", integrals), ("erasure", erased)):
            ours = torch.from_numpy(found[method].source[row].copy())
            limit = 0.05 if method == "integrated_gradients" else 1e-4
            assert (ours - theirs[0][0]).abs().max() < limit, method


def figures(repeats: int) -> dict[str, Figure]:
    """Return all times in seconds, and print each one when it is measured."""
    shipped = Translator.load(device="cpu")
    trace = shipped.trace(SENTENCE)
    # This word is one token in the middle of the model's own translation.
    explained = {"one word": Target((len(trace.predicted_tokens) // 2,)), "the whole sentence": whole_sentence(trace)}
    print(f"12 words, {len(trace.source_tokens)} x {len(trace.predicted_tokens)} tokens; the model that ships")
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
            f"12 words, {len(marian.trace.source_tokens)} x {len(marian.trace.predicted_tokens)} tokens; equal "
            f"random weights here and in Hugging Face {transformers.__version__}"
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
    arguments.add_argument("--repeats", type=int, default=3, help="runs of each, of which the median counts")
    options = arguments.parse_args()
    quiet()
    print(f"{torch.get_num_threads()} threads, torch {torch.__version__}; median of {options.repeats}")
    write(options.json, figures(options.repeats))


def quiet() -> None:
    """Suppress everything but the table."""
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    warnings.simplefilter("ignore")
    logging.getLogger("inseq").setLevel(logging.ERROR)


if __name__ == "__main__":
    main()
