"""Matches the heads of two translators one to one, by the similarity of their attention."""

import shlex
from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from attention_atlas.browser.labels import head_name
from pages.ui.charts.matrix import matrix
from pages.ui.charts.palette import sequential
from pages.ui.charts.tables import show_numbers
from pages.ui.components.save_as import show_clickable
from pages.ui.heads.head_picker import pick_head
from pages.ui.heads.head_reading import MapReading
from pages.ui.layout.roles import main_figure
from pages.ui.measurements.recordings import Recording
from pages.ui.params.attention import AttentionParams
from pages.ui.params.compare_heads import UNTRAINED, CompareParams
from pages.ui.reading.second_model import TwoModels, pick_second_model, two_models, untrained_of
from pages.ui.runs.inference import CachedRuns
from pages.ui.state import session
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from pages.ui.text.server_paths import path_label
from transformer.analysis.heads.matching import best_match, matched_similarity, similarities
from transformer.checkpoints.available_models import model_folders
from transformer.files.paths import ASSETS
from transformer.measurements.matching import HeadMatches, KindMatch, second_trace
from transformer.running.translator import Translator
from transformer.values.trace import Kind

# If the second model has more parameters than this, the page omits the comparison with an untrained model.
MAX_PARAMETERS = 100_000_000


def show_two_models(reading: MapReading, kind: Kind) -> None:
    """Match the heads of the first model with those of the second, and show the chosen head beside its match."""
    first = reading.translator
    if first is None:
        st.info("This part compares two translators, so choose a translator at the top.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = pick_second_model()
        choice = pick_head(reading, kind, CompareParams.PREFIX)
    models = two_models(first, name, reading.trace, kind)
    own, title = models.own, models.title
    recording = None if name == UNTRAINED else _recording(name, first)
    many = recording.of_model(first.version) if recording else None
    over = many.kinds.get(kind) if many and many.other == models.second.version else None
    with main_figure(
        f"**Heads of {markdown(own)}, each with its match in {markdown(title)}:** {markdown(reading.trace.text)}"
    ):
        _draw_matches(models, choice)
    st.caption(
        f"Each cell is a head of {markdown(own)}; the number in the cell is the matching head of {markdown(title)}, as "
        "layer.head. The colour shows the similarity: 1 if the two heads have the same attention weights, 0 if they "
        "look at different words in every row. Heads are matched one to one, so that the total similarity is as large "
        "as possible. If a head has no match, the most similar head is given in brackets. Click a cell to see both "
        "heads below.",
        help=explain("Jensen-Shannon divergence"),
    )
    st.markdown(_describe_nulls(first, models))
    models.show_head(choice)
    if recording:
        st.markdown(
            _describe_many(over, many, choice.layer * models.heads[0] + choice.head)
            if over and many
            else f"These matches come from one sentence. To match heads over many sentences, run `{recording.command}`."
        )
    show_numbers(_table(models, over), "compare_models_numbers", digits=4)


def _draw_matches(models: TwoModels, choice: AttentionParams) -> None:
    match, heads = models.match, models.heads
    names = [head_name(number, heads[1]) for number in models.shown]
    marks = [name if number >= 0 else f"({name})" for name, number in zip(names, match, strict=True)]
    rows, columns = (
        [f"{what} {number + 1}" for number in range(count)]
        for what, count in (("layer", len(match) // heads[0]), ("head", heads[0]))
    )
    show_clickable(
        matrix(
            matched_similarity(models.similarity, models.shown).reshape(-1, heads[0]),
            rows,
            columns,
            name="similarity",
            scale=sequential(),
            picked=(choice.layer, choice.head),
            marks=(f"match in {models.title}", np.array(marks, dtype=object).reshape(-1, heads[0])),
        ),
        key="compare_models",
        clicked=lambda layer, head: session.update_attention(of=type(choice), layer=layer, head=head),
        alt="The similarity of every head to its match in the other model; the table below lists the values.",
    )


def _describe_nulls(first: Translator, models: TwoModels) -> str:
    """Return Markdown that compares the mean similarity of the matched heads with chance levels."""
    description = f"Mean similarity of the matched heads: **{np.nanmean(models.matched):.2f}**. "
    description += (
        f"If the second model's heads are shuffled within each layer, the mean is {np.nanmean(models.shuffled):.2f}"
    )
    if models.other != UNTRAINED and models.second.parameters <= MAX_PARAMETERS:
        random, trace = untrained_of(models.second), models.traces[0]
        by_chance = similarities(trace, second_trace(first, CachedRuns(random), random, trace), models.kind)
        best = float(np.nanmean(matched_similarity(by_chance, best_match(by_chance))))
        description += f"; for a second model with random weights, the mean of the best matches is {best:.2f}"
    return f"{description}. A match means something only if its similarity is clearly above chance."


def _describe_many(match: KindMatch, many: HeadMatches, at: int) -> str:
    """Return Markdown about matches over many sentences: mean similarities with 95% intervals, and the chosen head's
    match.
    """
    means = [
        f"{name} {each.mean:.2f} ({each.low:.2f} to {each.high:.2f})"
        for name, each in (
            ("matched heads", match.mean),
            ("shuffled within layers", match.mean_shuffled),
            ("random weights", match.mean_random),
        )
    ]
    description = f"**Over {many.sentences} sentences**, mean similarity (95% confidence interval): {'; '.join(means)}."
    if match.match[at] < 0:
        return description
    each, other = match.matched, match.match[at]
    return (
        f"{description} Over these sentences, head {head_name(at, match.heads[0])} is matched with head "
        f"{head_name(other, match.heads[1])}: similarity "
        f"{each.mean[at]:.2f} ({each.low[at]:.2f} to {each.high[at]:.2f})."
    )


def _table(models: TwoModels, over: KindMatch | None) -> pd.DataFrame:
    heads = models.heads
    table = pd.DataFrame(
        {
            "head": [_title(number, heads[0]) for number in range(len(models.match))],
            "match": [_title(number, heads[1]) for number in models.match],
            "similarity": models.matched,
            "shuffled": models.shuffled,
        }
    )
    if over:
        table["match over many sentences"] = [_title(number, heads[1]) for number in over.match]
        table["similarity over many sentences"] = over.matched.mean
        table["from"], table["to"] = over.matched.low, over.matched.high
    return table


def _title(number: int, heads: int) -> str:
    """Return a head's name for the table; empty if `number` is -1, which means that there is no match."""
    return "" if number < 0 else f"layer {number // heads + 1}, head {number % heads + 1}"


def _recording(name: str, first: Translator) -> Recording[HeadMatches]:
    """Return the recorded matches of the first model's heads with the heads of the model `name`."""
    file = f"head_matches_{name}.json"
    recording = Recording(ASSETS / file, HeadMatches.from_json, f"attention-atlas match --output assets/{file}")
    other = shlex.quote(path_label(model_folders()[name].path))
    beside = recording.beside(first)
    return replace(beside, command=f"{beside.command} --other {other}")
