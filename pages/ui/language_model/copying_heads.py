"""Shows previous-token, induction and duplicate-token heads, which are found with repeated random patterns."""

from functools import partial

import numpy as np
import streamlit as st

from attention_atlas.browser.payload import AlsoNamed
from pages.ui.components.side_by_side import Map, side_by_side
from pages.ui.heads.prose import prose
from pages.ui.language_model.reading import MAPS, REPETITION, store_text
from pages.ui.layout.roles import main_figure
from pages.ui.params.language_model import LanguageModelParams
from pages.ui.runs.inference import CachedRuns
from pages.ui.state import session
from pages.ui.text.glossary import explain
from pages.ui.text.head_link import HeadLink
from pages.ui.text.markup import markdown
from transformer.checkpoints.checkpoint import LanguageModel
from transformer.decoding.texts import MAX_CHARACTERS
from transformer.errors import AtlasError, DeviceError
from transformer.language_modelling.head_scores import (
    LENGTH,
    NAMES,
    PATTERNS,
    THRESHOLD,
    HeadScores,
    copying_heads,
    earlier_occurrences,
    scores_in_text,
)
from transformer.language_modelling.runs import CopyingRun
from transformer.values.trace import Trace

TITLES = {
    "previous": "1. On the previous token",
    "induction": "2. After an earlier copy of the token (induction)",
    "duplicate": "3. On an earlier copy of the token",
}
# The tokens that a copying head attends to, by the name of the score.
PLACES = {
    "previous": "the previous token",
    "induction": "the token after an earlier copy of the current token",
    "duplicate": "an earlier copy of the current token",
}
# Scores that are defined only for a text with repetitions.
REPEATED = ("induction", "duplicate")


def show_copying_heads(loaded: LanguageModel) -> None:
    """Show one map of all heads for each score, and list the heads whose score is above the threshold."""
    st.markdown(
        f"The model reads {PATTERNS} random patterns of {LENGTH} tokens, each **twice**. In the second half, the "
        "next token can be predicted only by looking back at the first half. A head in an earlier layer looks at the "
        "previous token; an *induction head* then finds the token after the earlier copy (Olsson et al. 2022).",
        help=explain("induction head", "previous-token head", "head"),
    )
    scores = scores_of_model(loaded)
    if isinstance(scores, str):
        st.warning(markdown(scores), icon=":material/edit:")
        return
    with main_figure("**Which heads copy?** Share of each head’s attention on the tokens in the map’s title, 0 to 1"):
        side_by_side([_map(scores, name) for name in NAMES], "lm_copying", sentence="")
    for name in NAMES:
        prose(f"lm_named_{name}", named_heads(scores, name), MAPS, opened=partial(_fill_map, loaded, name))
    st.caption(
        f"A head gets a name if, on average, more than {THRESHOLD:.0%} of its attention is on the tokens in the map’s "
        "title. A head may get further names, which describe its behaviour on your text only. Click a head to open its "
        f"map. If you click an “{NAMES['induction']}” or “{NAMES['duplicate']}” head and your text has no repetitions, "
        "a text with repetitions replaces yours."
    )


def _map(scores: HeadScores, name: str) -> Map:
    values = getattr(scores, name)
    layers, heads = values.shape
    return Map(
        TITLES[name],
        [f"layer {layer + 1}" for layer in range(layers)],
        [f"head {head + 1}" for head in range(heads)],
        values,
        np.ones_like(values, dtype=bool),
        measure="share",
        axes=("layer", "head"),
    )


def named_heads(scores: HeadScores, name: str) -> list[str | HeadLink]:
    """Return a sentence that lists the heads with a score above the threshold, best first. If there are none, name the
    best head.
    """
    values = getattr(scores, name)
    order = sorted(np.ndindex(*values.shape), key=lambda at: -values[at])
    passed = [at for at in order if values[at] > THRESHOLD]
    if not passed:
        nearest = order[0]
        return [
            f"No head of this model has more than half of its attention on {PLACES[name]}; the closest is ",
            HeadLink("decoder", *nearest),
            f" with {values[nearest]:.2f}.",
        ]
    parts: list[str | HeadLink] = [f"Heads called “{NAMES[name]}” look at {PLACES[name]}: "]
    for number, at in enumerate(passed):
        parts += [", " if number else "", HeadLink("decoder", *at), f" ({values[at]:.2f})"]
    return [*parts, "."]


def _fill_map(loaded: LanguageModel, name: str) -> None:
    """Callback for a click on a head: replace the user's text with one that repeats itself, unless the text already
    does.
    """
    beginning = session.params(LanguageModelParams).text[:MAX_CHARACTERS]
    tokens = [token.id for token in loaded.tokenizer.encode(beginning, end=False)]
    if name in REPEATED and not any(earlier_occurrences(tokens)):
        store_text(REPETITION)
        session.refill_boxes()


def describe_copying(loaded: LanguageModel, trace: Trace, layer: int, head: int) -> str:
    """Return sentences that describe how an induction or duplicate-token head behaves on a text; "" for other heads."""
    names = copying_names(loaded).get((layer, head), ())
    if not any(NAMES[score] in names for score in REPEATED):
        return ""
    tokens = [token.id for token in trace.target_tokens]
    again = sum(map(bool, earlier_occurrences(tokens)))
    pattern_sentence = (
        "Because of its behaviour on repeated random patterns, this head is called "
        f"{' and '.join(f'“{name}”' for name in names)}."
    )
    if not again:
        return (
            f"{pattern_sentence} In this text, no token occurs twice, so the head has nothing to copy. Try the example "
            f"“{REPETITION}”."
        )
    scores = scores_in_text(trace.decoder, tokens)
    shares = " and ".join(
        f"{getattr(scores, score)[layer, head]:.0%} is on {PLACES[score]}"
        for score in REPEATED
        if NAMES[score] in names
    )
    rows = "one token repeats" if again == 1 else f"{again} tokens repeat"
    return f"{pattern_sentence} In this text, {rows} an earlier token. Of the attention from repeated tokens, {shares}."


def scores_of_model(loaded: LanguageModel) -> HeadScores | str:
    """Return the scores of all heads, or a message that says why they cannot be computed."""
    try:
        return CachedRuns(loaded).get(CopyingRun())
    except DeviceError as error:
        # Return this message unchanged: it says what to do, and a second attempt may succeed.
        return str(error)
    except (AtlasError, ValueError) as error:
        return f"This model cannot read the patterns: {error}."


def copying_names(loaded: LanguageModel) -> AlsoNamed:
    """Return the names of the copying heads, by 0-based layer and head; empty if they cannot be determined."""
    scores = scores_of_model(loaded)
    return {} if isinstance(scores, str) else copying_heads(scores)
