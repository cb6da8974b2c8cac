"""Builds one random model in two formats, and runs captum and inseq on it, for benchmarks/attributions.py."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import torch
import transformers
from captum.attr import FeatureAblation, InputXGradient, IntegratedGradients
from torch import Tensor

# Set the variable before importing inseq, so that inseq does not search for models online.
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import inseq

from transformer.attribution.attribution import Method
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
# Number of steps that captum and inseq use for integrated gradients.
STEPS = 50
CAPTUM, INSEQ = f"captum {version('captum')}", f"inseq {version('inseq')}"
# A peer's explanation function; it explains the predicted tokens at the given positions one by one.
Explain = Callable[[Sequence[int]], object]


@dataclass(frozen=True, eq=False)
class Marian:
    """A model with random weights in this project's format and in Hugging Face's, and the trace of TRANSLATION.

    Attributes:
        translator: this project's model.
        trace: the trace of its run.
        model, tokenizer: Hugging Face's model and tokenizer.
        source, prefix: embeddings without positions, [1, S, D] and [1, T, D], as inputs to Hugging Face's model.
    """

    translator: Translator
    trace: Trace
    model: transformers.MarianMTModel
    tokenizer: transformers.MarianTokenizer
    source: Tensor
    prefix: Tensor

    @classmethod
    def write(cls, folder: Path) -> Marian:
        """Build a model with the shipped model's size and vocabulary. Save and load it in this project's format and in
        Hugging Face's.
        """
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
        # Scale only the source: Marian's decoder scales the embeddings that it receives, but its encoder does not.
        return cls(
            translator,
            trace,
            model,
            transformers.MarianTokenizer.from_pretrained(theirs),
            encoder.embed_tokens(source) * encoder.embed_scale,
            decoder.embed_tokens(prefix),
        )

    def word(self) -> range:
        """Return the positions of WORD's tokens among the predicted tokens."""
        start = TRANSLATION.index(WORD)
        inside = [
            position
            for position, token in enumerate(self.trace.predicted_tokens)
            if token.span is not None and token.span[0] < start + len(WORD) and token.span[1] > start
        ]
        return range(inside[0], inside[-1] + 1)

    def score(self, position: int, *, log_probs: bool, **inputs: Tensor) -> Tensor:
        """Return the log-probability (or, without `log_probs`, the logit) of the token predicted at a position, [B]."""
        logits = self.model(**inputs, use_cache=False).logits[:, position]
        scores = logits.log_softmax(dim=-1) if log_probs else logits
        return scores[:, self.trace.predicted_tokens[position].id]


def by_captum(marian: Marian) -> dict[Method, Explain]:
    """Return, for each method, a function that explains Hugging Face's model with captum.

    For each given position, the function returns scores for the source and the target prefix.
    """

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
    """Return functions that explain Hugging Face's model with inseq, by method.

    One call to inseq explains the tokens at all given positions.
    """
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
            # inseq's positions count the start symbol, and attr_pos_end is inclusive.
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
