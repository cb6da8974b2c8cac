"""The numbers of a lesson's figure as a table: on the page, on sheets and in files alike. Pure but for the runs."""

from __future__ import annotations

from math import exp

import numpy as np
import pandas as pd

from pages.ui.inside_a_layer.worked_example import example_table
from pages.ui.lessons.measured import MeasuredStep
from pages.ui.text.labels import column_labels, row_labels
from pages.ui.text.markup import piece_label
from transformer.analysis.replay.contributions import contributions
from transformer.analysis.replay.softmax import softmax
from transformer.analysis.view import axes_of
from transformer.lessons.claims.ablation import KIND_NAMES, removed_translations
from transformer.lessons.claims.attribution import named_words
from transformer.lessons.claims.runs import PARTS
from transformer.lessons.evidence import Evidence
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.interventions import all_heads
from transformer.values.trace import Kind

SAMPLES = 3
# Heads at either end of the table of what heads are worth.
EXTREMES = 4


def figure_table(measured: MeasuredStep) -> pd.DataFrame | None:
    """The table of a figure; None for those that are maps or curves."""
    tables = {
        "scores": scores_table, "example": worked_table, "candidates": candidates_table,
        "probabilities": probabilities_table, "translations": translations_table, "norms": norms_table,
        "worth": worth_table, "removed": removed_table, "needed": needed_table,
    }
    table = tables.get(measured.step.show)
    return None if table is None else table(measured.evidence, **measured.step.figure)


def scores_table(evidence: Evidence, kind: Kind, head: str, row: str) -> pd.DataFrame:
    """A row of a map, from query times key to the weight, in columns of pieces."""
    layer, number = at = evidence.head(kind, head)
    row_at = evidence.view(kind).axes.row_positions[evidence.row(kind, row, at)][0]
    trace = evidence.trace(details=True)
    query, keys = (trace.detail(kind, part)[layer, number].astype(np.float64) for part in ("queries", "keys"))
    products = keys @ query[row_at]
    scaled = products / np.sqrt(keys.shape[-1])
    return pd.DataFrame({
        "looked at": column_labels(axes_of(trace, kind)), "query · key": products, "÷ √K": scaled,
        "weight": softmax(scaled, trace.mask(kind)[row_at]),
    })


def worked_table(evidence: Evidence, score: int, other: int, width: int) -> pd.DataFrame:
    """Two scores and their weights, as on the page Inside a layer."""
    return example_table(np.array([score, other], dtype=np.float64), float(np.sqrt(width)))


def candidates_table(evidence: Evidence, step: int) -> pd.DataFrame:
    """The likeliest pieces of a step."""
    trace, row = evidence.trace(), evidence.step(step)
    pieces = evidence.runs.tokenizer.pieces([int(number) for number in trace.candidate_ids[row]])
    return pd.DataFrame({
        "next piece": [piece_label(piece, "") for piece in pieces],
        "probability": np.exp(trace.candidate_log_probs[row].astype(np.float64)),
    })


def probabilities_table(evidence: Evidence) -> pd.DataFrame:
    """The pieces that were written, and what each of them had."""
    trace = evidence.trace()
    return pd.DataFrame({
        "piece written": [piece_label(piece, trace.target_text) for piece in trace.predicted_pieces],
        "probability": np.exp(trace.log_probs.astype(np.float64)),
    })


def translations_table(evidence: Evidence) -> pd.DataFrame:
    """What each method writes."""
    samples = {
        f"temperature {temperature:g}, no. {seed}": DecodingSettings(
            "sample", temperature=temperature, seed=seed
        )
        for temperature in (1.0, 0.1) for seed in range(1, SAMPLES + 1)
    }
    methods = {
        "greedy": DecodingSettings(), "beam of 4": DecodingSettings("beam", beam_size=4, length_penalty=0.0), **samples,
    }
    written = [evidence.runs.translate(evidence.sentence, settings) for settings in methods.values()]
    return pd.DataFrame({
        "method": list(methods), "translation": [one.text for one in written],
        "probability": [float(np.exp(one.log_prob)) for one in written],
    })


def norms_table(evidence: Evidence, kind: Kind, head: str) -> pd.DataFrame:
    """For each place the mean of its weights, and of its shares of what is brought."""
    layer, number = evidence.head(kind, head)
    trace = evidence.trace(details=True)
    found = contributions(trace, evidence.runs.weights(), kind, layer)
    norms = found.head_norms()[number]
    return pd.DataFrame({
        "looked at": column_labels(axes_of(trace, kind)), "share of the attention": found.weights[number].mean(axis=0),
        "share of what it brings": (norms / norms.sum(axis=-1, keepdims=True)).mean(axis=0),
    })


def worth_table(evidence: Evidence) -> pd.DataFrame:
    """The heads that the translation needs most, and those without which it is likeliest."""
    heads, changes = all_heads(evidence.runs.config), evidence.head_changes()
    order = changes.argsort(kind="stable")
    listed = [*order[:EXTREMES], *order[-EXTREMES:]]
    return pd.DataFrame({
        "without": [f"{KIND_NAMES[kind]}, layer {layer + 1}, head {head + 1}"
                    for kind, layer, head in (heads[index] for index in listed)],
        "change in the log-probability, in nats": changes[listed],
    })


def removed_table(evidence: Evidence, count: int) -> pd.DataFrame:
    """The translation with all heads, and without some."""
    return pd.DataFrame({
        "without": ["nothing: with all heads", f"the {count} heads needed least", f"the {count} heads needed most"],
        "translation": removed_translations(evidence, count),
    })


def needed_table(evidence: Evidence) -> pd.DataFrame:
    """For each word written the source word looked at most and the one needed most, and the written word's probability
    without either."""
    return pd.DataFrame([
        {
            "word written": one.word, "probability": f"{one.probability:.1%}",
            "looks most at": one.looked_at, "without that": f"{one.probability * exp(-one.cost):.1%}",
            "needs most": one.needed, "without it": f"{one.probability * exp(-one.needed_cost):.1%}",
        }
        for one in named_words(evidence)
    ])


def without_maps(evidence: Evidence, kind: Kind, head: str, part: str) -> list[tuple[str, list[str], list[str],
                                                                                    np.ndarray, np.ndarray]]:
    """One head of a run as trained, and of one without a part: title, labels, weights [R, C] and mask of each."""
    at = evidence.head(kind, head)
    runs = {
        f"with {_article(part)}": evidence.trace(),
        f"without {_article(part)}": evidence.trace(interventions=PARTS[part]),
    }
    maps = []
    for title, trace in runs.items():
        axes = axes_of(trace, kind)
        maps.append((
            f"Layer {at[0] + 1}, head {at[1] + 1}, {title}", row_labels(axes), column_labels(axes),
            trace.attention(kind)[at], trace.mask(kind),
        ))
    return maps


def _article(part: str) -> str:
    return "the mask" if part == "mask" else part
