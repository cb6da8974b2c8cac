"""Matches the heads of two translators: for each head of A, the head of B with the most similar attention."""

from __future__ import annotations

import shlex
from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
import streamlit as st

from pages.ui.charts.matrix import PICK, matrix
from pages.ui.charts.palette import sequential
from pages.ui.charts.tables import show_numbers
from pages.ui.compare_heads.head_scatter import head_name
from pages.ui.compare_heads.two_heads import map_of, pin_title
from pages.ui.components.save_as import show_altair
from pages.ui.components.side_by_side import side_by_side
from pages.ui.heads.head_picker import pick_head
from pages.ui.heads.head_reading import MapReading
from pages.ui.layout.roles import main_figure
from pages.ui.measured.recorded import Recording
from pages.ui.params.compare_heads import UNTRAINED, CompareParams, Pin
from pages.ui.reading.model_picker import chosen_model, load
from pages.ui.runs.inference import CachedRuns
from pages.ui.runs.page_end import PageEnd
from pages.ui.state import session
from pages.ui.state.bind import bind
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from pages.ui.text.server_paths import error_text, path_label
from transformer.analysis.heads.matching import best_match, matched_similarity, shuffled_similarity, similarities
from transformer.analysis.view import view_of
from transformer.checkpoints.available_models import SHIPPED, model_folders
from transformer.errors import AtlasError
from transformer.files.paths import ASSETS
from transformer.running.translator import Translator
from transformer.surveys.matching import HeadMatches, KindMatch, kinds_of_both, read_by_second, untrained
from transformer.values.trace import Kind, Trace

RANDOM = "random weights"
# Models with random weights, by the trained model whose configuration they share; dropped together with that model.
MADE: WeakKeyDictionary[Translator, Translator] = WeakKeyDictionary()
# For a model with more parameters, no counterpart with random weights is created.
MAX_PARAMETERS = 100_000_000


def show_two_models(reading: MapReading, kind: Kind) -> None:
    """Draw the match of every head of the first model, then the maps of the chosen head and its match."""
    first = reading.translator
    if first is None:
        st.info("This part compares two translators. Choose the translator at the top.")
        return
    folder = chosen_model()
    own = folder.name if folder else SHIPPED
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = _pick_other(own)
        choice = pick_head(reading, kind, CompareParams.PREFIX)
    title = RANDOM if name == UNTRAINED else name
    second, trace = _read_by(first, name, reading.trace, kind)
    similarity = similarities(reading.trace, trace, kind)
    heads = reading.trace.attention(kind).shape[1], trace.attention(kind).shape[1]
    match = best_match(similarity)
    # A head without a match is shown with its most similar head.
    shown = np.where(match < 0, similarity.argmax(axis=1), match)
    matched, shuffled = matched_similarity(similarity, match), shuffled_similarity(similarity, match, heads[1])
    recording = None if name == UNTRAINED else _recording(name, first)
    many = recording.of_model(first.version) if recording else None
    over = many.kinds.get(kind) if many and many.other == second.version else None
    at = choice.layer * heads[0] + choice.head
    with main_figure(
        f"**Heads of {markdown(own)}, each with its match in {markdown(title)}:** {markdown(reading.trace.text)}"
    ):
        _draw_matches(similarity, match, shown, heads, (choice.layer, choice.head), type(choice), title)
    st.caption(
        f"A cell is a head of {markdown(own)}; the number in it is its match in {markdown(title)}, as layer.head. The "
        "colour is their similarity: 1 if the heads look at the same words in every row, 0 if they never do. Heads are "
        "matched one to one, so that the total similarity is largest; brackets name the nearest head where none is "
        "left. Click a cell to see both heads below.",
        help=explain("Jensen-Shannon divergence"),
    )
    st.markdown(_describe_nulls(first, second, reading.trace, kind, matched, shuffled, name))
    st.markdown(_describe_head(similarity, match, shuffled, heads, at, own, title))
    pins = [
        Pin(kind, *divmod(number, count), choice.words, each.text)
        for number, count, each in zip((at, int(shown[at])), heads, (reading.trace, trace), strict=True)
    ]
    side_by_side(
        [
            map_of(f"{of}: {pin_title(pin)}", view_of(each, kind, words=pin.words), pin)
            for of, pin, each in zip((own, title), pins, (reading.trace, trace), strict=True)
        ],
        "two_models",
        sentence=reading.trace.text,
    )
    if recording:
        st.markdown(
            _describe_many(over, many, at)
            if over and many
            else (
                f"This is one sentence. To match the two models over many, with intervals, run `{recording.command}`."
            )
        )
    show_numbers(_table(similarity, match, shuffled, heads, over), "compare_models_numbers", digits=4)


def _pick_other(own: str) -> str:
    """Draw the choice of the second model; return the model's name."""
    names = [*(name for name in model_folders() if name != own), UNTRAINED]
    asked = session.params(CompareParams).other
    chosen = asked if asked in names else names[0]
    st.selectbox(
        "Second model",
        names,
        width=320,
        format_func=lambda name: RANDOM if name == UNTRAINED else name,
        **bind(CompareParams, "other", value=chosen),
        help="A folder in `models`, or a model of the same shape that has learned nothing. Both models read the same "
        "sentence, and the same translation if they write the same language.",
    )
    return chosen


def _read_by(first: Translator, name: str, trace: Trace, kind: Kind) -> tuple[Translator, Trace]:
    """Return the second model and its trace; stop the page with a message if the heads cannot be compared."""
    folder = model_folders().get(name)
    second = load(folder.path, folder.problem) if folder else _untrained(first)
    try:
        kinds = kinds_of_both(first, second, trace.source_text)
        found = read_by_second(first, CachedRuns(second), second, trace)
    except (AtlasError, ValueError) as error:
        st.warning(error_text(error), icon=":material/edit:")
        raise PageEnd from None
    if kind not in kinds:
        st.info("The two models write different languages: only their encoder attention can be compared.")
        raise PageEnd
    return second, found


def _untrained(translator: Translator) -> Translator:
    found = MADE.get(translator)
    return found if found is not None else MADE.setdefault(translator, untrained(translator))


def _draw_matches(
    similarity: np.ndarray,
    match: np.ndarray,
    shown: np.ndarray,
    heads: tuple[int, int],
    picked: tuple[int, int],
    params: type,
    title: str,
) -> None:
    key = "compare_models"
    names = [head_name(number, heads[1]) for number in shown]
    marks = [name if number >= 0 else f"({name})" for name, number in zip(names, match, strict=True)]

    def clicked() -> None:
        points = st.session_state[key].selection[PICK]
        if points:
            layer, head = (int(points[0][field]) - 1 for field in ("row", "column"))
            session.update_attention(of=params, layer=layer, head=head)

    rows, columns = (
        [f"{what} {number + 1}" for number in range(count)]
        for what, count in (("layer", len(match) // heads[0]), ("head", heads[0]))
    )
    show_altair(
        matrix(
            matched_similarity(similarity, shown).reshape(-1, heads[0]),
            rows,
            columns,
            name="similarity",
            scale=sequential(),
            picked=picked,
            marks=(f"match in {title}", np.array(marks, dtype=object).reshape(-1, heads[0])),
        ),
        key=key,
        on_select=clicked,
        selection_mode=PICK,
        alt="The similarity of every head with its match in the other model; the table below has the same numbers.",
    )


def _describe_nulls(
    first: Translator,
    second: Translator,
    trace: Trace,
    kind: Kind,
    matched: np.ndarray,
    shuffled: np.ndarray,
    name: str,
) -> str:
    """Return Markdown that compares the mean similarity on this sentence with that of chance matches."""
    said = f"Mean similarity of the matched heads: **{np.nanmean(matched):.2f}**. "
    said += f"If the second model's heads are shuffled within each layer, it is {np.nanmean(shuffled):.2f}"
    if name != UNTRAINED and second.parameters <= MAX_PARAMETERS:
        random = _untrained(second)
        by_chance = similarities(trace, read_by_second(first, CachedRuns(random), random, trace), kind)
        best = float(np.nanmean(matched_similarity(by_chance, best_match(by_chance))))
        said += f"; with the best match in a model of its shape with random weights, {best:.2f}"
    return f"{said}. A match means something only if it is clearly above chance."


def _describe_head(
    similarity: np.ndarray,
    match: np.ndarray,
    shuffled: np.ndarray,
    heads: tuple[int, int],
    at: int,
    own: str,
    title: str,
) -> str:
    """Return Markdown that names the match of the chosen head, and its most similar head if that is another one."""
    here, nearest = f"**Head {head_name(at, heads[0])} of {markdown(own)}**", int(similarity[at].argmax())
    if match[at] < 0:
        return (
            f"{here} has no match, because the second model has fewer heads. The nearest one is head "
            f"{head_name(nearest, heads[1])} of {markdown(title)}: similarity {similarity[at, nearest]:.2f}."
        )
    said = (
        f"{here} is matched with **head {head_name(int(match[at]), heads[1])} of {markdown(title)}**: similarity "
        f"{similarity[at, match[at]]:.2f}; the heads of that layer have {shuffled[at]:.2f} on average."
    )
    if nearest != match[at]:
        said += (
            f" Head {head_name(nearest, heads[1])} is more similar ({similarity[at, nearest]:.2f}), but is matched "
            "with another head."
        )
    return said


def _describe_many(found: KindMatch, many: HeadMatches, at: int) -> str:
    """Return Markdown that states the match over many sentences, with 95% intervals."""
    means = [
        f"{name} {each.mean:.2f} ({each.low:.2f} to {each.high:.2f})"
        for name, each in (
            ("matched heads", found.mean),
            ("shuffled within layers", found.mean_shuffled),
            ("random weights", found.mean_random),
        )
    ]
    said = f"**Over {many.sentences} sentences**, mean similarity and its 95% interval: {'; '.join(means)}."
    if found.match[at] < 0:
        return said
    each, other = found.matched, found.match[at]
    return (
        f"{said} There, head {head_name(at, found.heads[0])} is matched with head {head_name(other, found.heads[1])}: "
        f"{each.mean[at]:.2f} ({each.low[at]:.2f} to {each.high[at]:.2f})."
    )


def _table(
    similarity: np.ndarray, match: np.ndarray, shuffled: np.ndarray, heads: tuple[int, int], over: KindMatch | None
) -> pd.DataFrame:
    """Return a table with one row per head: its match, and their similarity."""
    numbers = range(len(match))
    table = pd.DataFrame(
        {
            "head": [_title(number, heads[0]) for number in numbers],
            "match": [_title(number, heads[1]) for number in match],
            "similarity": matched_similarity(similarity, match),
            "shuffled": shuffled,
        }
    )
    if over:
        table["match over many"] = [_title(number, heads[1]) for number in over.match]
        table["similarity over many"] = over.matched.mean
        table["from"], table["to"] = over.matched.low, over.matched.high
    return table


def _title(number: int, heads: int) -> str:
    """Return the name of a head for the table; empty for -1."""
    return "" if number < 0 else f"layer {number // heads + 1}, head {number % heads + 1}"


def _recording(name: str, first: Translator) -> Recording[HeadMatches]:
    """Return the recording of the matches with the model `name`; its file is beside the first model."""
    file = f"head_matches_{name}.json"
    found = Recording(ASSETS / file, HeadMatches.from_json, f"attention-atlas match --output assets/{file}")
    other = shlex.quote(path_label(model_folders()[name].path))
    beside = found.beside(first)
    return replace(beside, command=f"{beside.command} --other {other}")
