import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pages.ui.text.captions import describe_axes, describe_clearest_head, describe_head, describe_most_focused_head
from tests.made_up_traces import FIRST, made_up_trace
from tests.properties import few, many
from transformer.analysis.heads.metrics import HeadMetrics, head_metrics
from transformer.analysis.view import view_of
from transformer.text.languages import LANGUAGES, language
from transformer.values.trace import KINDS

ENTROPY = r"\(entropy ([\d.]+) of at most ([\d.]+) nats\)"
# Patterns for the sentence about where a head looks. Each caption matches exactly one pattern.
HABITS = {
    "mostly": r"This head mostly looks at (.+): (\d+)% of",
    "focused": rf"Very focused: on average, a row puts (\d+)% of .* on one \w+, which differs from row .* {ENTROPY}",
    "spread": rf"This head spreads its attention widely {ENTROPY}",
    "between": r"On average, a row puts (\d+)% of [^%]*? on a single \w+(?:, and (\d+)% on start and end symbols)? "
    + ENTROPY,
}


def described(trace, kind, layer=0, head=0, **view):
    return describe_head(view_of(trace, kind, **view), head_metrics(trace, kind, [0.0] * 20_000), layer, head)


def test_caption_states_where_the_heads_of_a_copying_model_look(copying_translator):
    trace = copying_translator.trace("The dog and the cat")
    assert "mostly looks at the token before: 100%" in described(trace, "decoder")
    assert "mostly looks at the next token: 100%" in described(trace, "encoder")
    cross = described(trace, "cross")
    assert "Very focused: on average, a row puts 93% of its attention on one token, which differs from" in cross
    assert re.search(r"Strongest link: as it writes \*\*.+\*\*(?: \(position \d+\))?, it looks at .+ \(1\.00\)", cross)


def test_caption_describes_a_head_that_always_attends_to_one_word(copying_translator):
    """Every row attends only to the second token."""
    trace = copying_translator.trace("The dog and the cat")
    weights = np.zeros_like(trace.cross)
    weights[..., 1] = 1.0
    assert re.search(
        r"mostly looks at \*\*he\*\*(?: \(position 2\))?: 100% of its attention on average\.",
        described(replace(trace, cross=weights), "cross"),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_caption_names_the_strongest_link_of_the_map(small_translator, kind):
    trace = small_translator.trace("The old man reads a book.")
    weight = float(re.search(r"Strongest link.*\((\d\.\d\d)\)\.", described(trace, kind, 1, 1)).group(1))
    assert np.isclose(trace.attention(kind)[1, 1], weight, atol=0.00501).any()


def test_caption_states_whether_weights_are_summed_rescaled_or_masked(small_translator):
    trace = small_translator.trace("The old man reads a book.")
    assert "hidden" not in describe_axes(view_of(trace, "encoder"), LANGUAGES)
    reported = describe_axes(view_of(trace, "encoder", words=True, special=False), LANGUAGES)
    assert "attention to it is summed" in reported and "scaled up to a sum of 1" in reported
    assert "hatched" in describe_axes(view_of(trace, "decoder"), LANGUAGES)
    to_arabic = LANGUAGES._replace(target=language("ar"))
    said = [describe_axes(view_of(trace, kind), to_arabic) for kind in KINDS]
    backwards = [kind for kind, text in zip(KINDS, said, strict=True) if "Arabic is read from right to left" in text]
    assert backwards == ["decoder"], "whose columns are of the translation"


def test_caption_escapes_markup_in_the_text(small_translator):
    trace = small_translator.trace("**x** <b>y</b>")
    for layer, head in np.ndindex(trace.encoder.shape[:2]):
        assert "<b>" not in described(trace, "encoder", layer, head, words=True)


@pytest.mark.parametrize("kind", KINDS)
def test_caption_names_the_most_focused_head(small_translator, kind):
    trace = small_translator.trace("The old man reads a book.")
    reported = "".join(
        map(str, describe_most_focused_head(head_metrics(trace, kind, small_translator.tokenizer.scores)))
    )
    confidence = head_metrics(trace, kind, small_translator.tokenizer.scores).values["confidence"]
    layer, head = map(int, re.search(r"layer (\d), head (\d)", reported).groups())
    assert confidence[layer - 1, head - 1] == confidence.max() and f"{confidence.max():.0%}" in reported


def test_caption_names_no_most_focused_head_if_confidence_was_not_measured():
    nothing = HeadMetrics("decoder", {"confidence": np.full((2, 3), np.nan)}, {"confidence": 0})
    assert describe_most_focused_head(nothing) == []


@st.composite
def traces(draw):
    """Draw an attention kind and a trace with up to three heads.

    A head attends at a fixed offset, to one column, to a random column per row, or to all columns equally. A head can
    also mix two of these patterns.
    """
    kind = draw(st.sampled_from(KINDS))
    words = st.lists(st.sampled_from(["a", "b", "c|d", "e|f|g", "."]), min_size=1, max_size=6)
    source, target = draw(words), draw(words)
    mask = made_up_trace(source, target).mask(kind)
    rows, columns = mask.shape

    def shape():
        one = draw(
            st.one_of(
                st.sampled_from([-1, 0, 1]).map(lambda offset: np.clip(np.arange(rows) + offset, 0, columns - 1)),
                st.integers(0, columns - 1).map(lambda column: np.full(rows, column)),
                st.lists(st.integers(0, columns - 1), min_size=rows, max_size=rows).map(np.array),
                st.none(),
            )
        )
        return np.ones((rows, columns)) if one is None else np.eye(columns)[one]

    def head():
        share = draw(st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.7, 0.9]))
        weights = np.where(mask, (1 - share) * shape() + share * shape(), 0)
        weights += np.where(mask & (weights.sum(axis=1, keepdims=True) == 0), 1, 0)
        return weights / weights.sum(axis=1, keepdims=True)

    maps = np.stack([head() for _ in range(draw(st.integers(1, 3)))])[None]
    return kind, made_up_trace(source, target, **{kind: maps})


def check_captions(found, words, hide):
    """Check that the captions of a map agree with each other and with the numbers of the map."""
    kind, trace = found
    view = view_of(trace, kind, words=words, special=not hide)
    metrics = head_metrics(trace, kind, [0.0] * (FIRST + 40))
    opened = "".join(map(str, describe_clearest_head(trace, metrics, is_chosen=False)))
    focus = "".join(map(str, describe_most_focused_head(metrics)))
    most = re.search(r"Most focused head: layer 1, head (\d+). On average, each row puts (\d+)%", focus)
    for head in range(trace.attention(kind).shape[1]):
        said = describe_head(view, metrics, 0, head)
        habits = {name: match for name, habit in HABITS.items() if (match := re.search(habit, said))}
        assert len(habits) == 1, said
        ((name, match),) = habits.items()
        shown_first = f"layer 1, head {head + 1}, " in opened
        if name == "mostly":
            assert int(match[2]) >= 50
            if not words and not hide and shown_first:
                resting = match[1] in ("the end symbol", "the start symbol")
                assert not (resting and "does not look mostly" in opened), (opened, said)
                if named := re.search("“(previous|same|next) token”", opened):
                    assert {"previous": "before", "same": "same", "next": "next"}[named[1]] in match[1], (opened, said)
        elif name == "focused":
            assert int(match[1]) >= 80 and float(match[2]) <= 0.51 * float(match[3]) + 0.01, said
        elif name == "spread":
            assert float(match[1]) >= 0.79 * float(match[2]) - 0.01, said
            assert not (int(most[1]) == head + 1 and int(most[2]) > 50), (said, most[0])
        else:
            assert int(match[1]) + int(match[2] or 0) <= 101, said
        # The strongest link of the map is at least as strong as the strongest link of an average row.
        link = re.search(r"Strongest link.*\((\d\.\d\d)\)", said)
        if kind == "cross" and name in ("focused", "between") and link:
            assert 100 * float(link[1]) + 1 >= int(match[1]), said
        assert said.count("exception") <= 1 and not ("now hidden" in said and "of its attention" in said), said
    if "does not look mostly" in opened and most and f"head {most[1]}, " not in opened:
        values = metrics.values
        resting = values["first"] + values.get("end", np.zeros_like(values["first"]))
        assert resting[0, int(most[1]) - 1] > 0.5, "the most focused one of all is another only if it rests"


@few(60)
@given(traces(), st.booleans(), st.booleans())
@example(("cross", made_up_trace(["a", "b", "c"], ["d", "e", "f"], cross=np.eye(4))), False, False)
def test_captions_of_a_map_do_not_contradict_each_other(found, words, hide):
    check_captions(found, words, hide)


@many(3000)
@given(traces(), st.booleans(), st.booleans())
def test_captions_of_thousands_of_maps_do_not_contradict_each_other(found, words, hide):
    check_captions(found, words, hide)


def test_caption_names_rows_in_which_an_alignment_head_differs_from_the_other_heads():
    maps = np.array([[np.eye(7)[list(map(int, each))] for each in ("0123456", "0123456", "0213456", "6" * 7)]])
    trace = made_up_trace(list("abcdef"), list("wxyzuv"), cross=maps)
    assert (
        "2 of 6 rows are exceptions. The clearest one: as it writes **x**, it looks at **c**; the alignment heads "
        "together look at **b**." in described(trace, "cross", head=2)
    )
    assert "exception" not in described(trace, "cross", head=0) + described(trace, "cross", head=3)
    said = "".join(map(str, describe_clearest_head(trace, head_metrics(trace, "cross", [0.0] * 20), is_chosen=False)))
    assert said.startswith("This is layer 1, head 1, the alignment head that best matches the mean of all")


def test_caption_names_rows_in_which_a_previous_word_head_attends_elsewhere():
    words = ["a", "b", "c", "d", "e", "f"]
    trace = made_up_trace(words, words, encoder=np.eye(7)[[0, 0, 1, 2, 1, 4, 5]])
    assert "One exception: **e** looks at **b**; the previous word is **d**." in described(trace, "encoder", words=True)


def test_caption_states_that_an_alignment_head_is_one_step_late():
    early = np.eye(5)[[[0, 1, 2, 3, 4]] * 3]
    trace = made_up_trace(
        ["a", "b", "c", "d"], ["w", "x", "y", "z"], cross=np.concatenate([early, np.eye(5)[[[4, 0, 1, 2, 3]]]])[None]
    )
    assert "It is one step late" in described(trace, "cross", head=3)
    assert "late" not in described(trace, "cross", head=0)
