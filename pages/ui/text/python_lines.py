"""Python code, shown to users, that reproduces a page's numbers with full precision."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pages.ui.text.server_paths import path_label
from transformer.files.paths import MODEL
from transformer.values.interventions import Interventions, Mode
from transformer.values.kinds import Kind
from transformer.values.trace import Trace

if TYPE_CHECKING:
    from transformer.ablation.patching import PatchingQuestion

# The note shown below Python code that contains layers, heads or positions.
FROM_ZERO = "This code numbers layers, heads and positions from 0, as in arrays; the page counts from 1."


def head_lines(
    trace: Trace, kind: Kind, layer: int, head: int, *, folder: Path | None, given: bool, words: bool, special: bool
) -> str:
    """Return Python code that computes a head's attention map as shown on the page and writes the map to a file.

    Args:
        layer, head: 0-based indices.
        folder: the model's folder; None for the built-in model.
        given: whether the user entered the translation.
        words, special: as in `transformer.analysis.view.view_of`.
    """
    as_run = special and not words
    expression = f"trace.{kind}" if as_run else f"view_of(trace, {kind!r}, words={words}, special={special}).weights"
    return "\n".join(
        (
            "import numpy",
            "from transformer import Translator",
            *(() if as_run else ("from transformer.analysis.view import view_of",)),
            f"trace = {load_expression(folder)}.trace({_text_arguments(trace, given)})",
            f"weights = {expression}[{layer}, {head}]",
            'numpy.savetxt("weights.csv", weights, fmt="%.9g", delimiter=",")',
        )
    )


def continuation_lines(trace: Trace, folder: Path | None, layer: int, head: int) -> str:
    """Return Python code that computes one head's attention weights in a language model, and writes them to a file.

    Args:
        folder: the model's folder; None for the built-in model.
        layer, head: 0-based indices.
    """
    path = "" if folder is None else f"Path({path_label(folder)!r})"
    return "\n".join(
        (
            *(["from pathlib import Path"] if path else []),
            "import numpy",
            "from transformer.checkpoints.checkpoint import load_language_model",
            "from transformer.language_modelling.tracing import trace_text",
            f"model = load_language_model({path})",
            f"score, trace = trace_text(model, {trace.target_text!r})",
            f"weights = trace.decoder[{layer}, {head}]",
            'numpy.savetxt("weights.csv", weights, fmt="%.9g", delimiter=",")',
        )
    )


def effect_lines(
    trace: Trace, interventions: Interventions, *, folder: Path | None, given: bool, draws: int | None = None
) -> str:
    """Return Python code that computes how switching heads off affects the translation and each of its steps.

    Args:
        folder: the model's folder; None for the built-in model.
        given: whether the user entered the translation.
        draws: the number of sampled sentences in the mode "resample"; None in other modes.
    """
    gates = ", ".join(f"{head!r}: {gate:g}" for head, gate in interventions.head_gates())
    seed = _keyword_arguments(seed=interventions.seed or None)
    arguments = f"{_text_arguments(trace, given)}, interventions=changed{_keyword_arguments(draws=draws)}"
    return "\n".join(
        (
            "from transformer import Interventions, Translator",
            "from transformer.ablation.effect import effect_of",
            f"changed = Interventions({{{gates}}}, {interventions.mode!r}{seed})",
            f"effect = effect_of({load_expression(folder)}, {arguments})",
            "print(effect.free.target_text, effect.change, effect.step_change)",
        )
    )


def importance_lines(
    trace: Trace, mode: Mode, *, folder: Path | None, given: bool, seed: int | None = None, draws: int | None = None
) -> str:
    """Return Python code that computes every head's importance for a sentence.

    Args:
        folder: the model's folder; None for the built-in model.
        given: whether the user entered the translation.
        seed, draws: the seed and the number of sampled sentences in the mode "resample"; None in other modes.
    """
    return "\n".join(
        (
            "from transformer import Translator",
            "from transformer.ablation.importance import head_importance",
            f"found = head_importance({load_expression(folder)}, {_text_arguments(trace, given)}, mode={mode!r}"
            f"{_keyword_arguments(seed=seed, draws=draws)})",
            "print(found.measured, found.estimated, found.agreement)",
        )
    )


def effects_lines(
    sentences: Sequence[str],
    effect: str,
    mode: Mode,
    *,
    folder: Path | None,
    seed: int | None = None,
    draws: int | None = None,
) -> str:
    """Return Python code that measures one effect for every head over several sentences.

    Args:
        effect: a key of `transformer.measurements.effects.EFFECTS`.
        folder: the model's folder; None for the built-in model.
        seed, draws: as in `importance_lines`.
    """
    arguments = f"mode={mode!r}{_keyword_arguments(seed=seed, draws=draws)}"
    return "\n".join(
        (
            "from transformer import Translator",
            "from transformer.measurements.effects import measure_effects",
            "sentences = [",
            *(f"    {sentence!r}," for sentence in sentences),
            "]",
            f"found = measure_effects({load_expression(folder)}, sentences, {arguments})",
            f"for kind in found.values[{effect!r}]:",
            f"    mean = found.mean({effect!r}, kind)",
            "    print(kind, mean.mean, mean.low, mean.high)",
        )
    )


def patch_lines(question: PatchingQuestion, interventions: Interventions, *, folder: Path | None) -> str:
    """Return Python code that prints a patched run's translation and the logit difference of the question's two tokens.

    Args:
        folder: the model's folder; None for the built-in model.
    """
    prefix = list(question.target[: question.step])
    return "\n".join(
        (
            "from transformer import Interventions, Translator",
            "from transformer.running.runs.scores import ContrastsRun",
            f"interventions = Interventions(patches={dict(interventions.patched())}, other={interventions.other})",
            f"translator = {load_expression(folder)}",
            f"run = ContrastsRun({question.text!r}, {question.target}, {question.step}, {question.tokens}, "
            "(interventions,))",
            f"translation = translator.translate({question.text!r}, prefix={prefix}, interventions=interventions)",
            "print(translator.get(run), translation.text)",
        )
    )


def load_expression(folder: Path | None) -> str:
    """Return a Python expression that loads the model in a folder; None stands for the built-in model."""
    return "Translator.load()" if folder in (None, MODEL) else f"Translator.load({path_label(folder)!r})"


def _keyword_arguments(**numbers: int | None) -> str:
    """Return Python source for keyword arguments, leaving out arguments that are None."""
    return "".join(f", {name}={number}" for name, number in numbers.items() if number is not None)


def _text_arguments(trace: Trace, given: bool) -> str:
    """Return Python source for the text arguments: the sentence and, if the user entered it, the translation."""
    return f"{trace.source_text!r}" + (f", target={trace.target_text!r}" if given else "")
