"""Checks that every figure accepted by `lessons check` can be drawn on the page and in exported files."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.ui.lessons.figures import first_choice
from pages.ui.lessons.measured_step import MeasuredStep, measured_step
from pages.ui.lessons.tables import figure_table, without_maps
from pages.ui.runs.inference import CachedRuns
from tests.properties import few
from transformer.errors import AtlasError, LessonError
from transformer.lessons.evidence import JOBS, LATER_TOKENS
from transformer.lessons.figures import FIGURE_VALUES, FIGURES, OTHER_SENTENCE
from transformer.lessons.lesson import lesson_of
from transformer.lessons.result import broken_claims
from transformer.running.translator import Translator
from transformer.values.trace import KINDS

HEAD = 'title = "T"\nsummary = "S."\nsentence = "I have a dream."\n'
STEP = """
[[steps]]
look_for = "Look."
reveal = "{layer}"
claim = { name = "job", kind = "encoder", job = "next", least = 0.0 }
"""
# Valid and invalid values for a model with 2 encoder layers, 3 decoder layers and 4 heads in each layer.
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "kind": st.sampled_from(KINDS),
    "part": st.sampled_from(["positions", "mask"]),
    "bars": st.sampled_from(tuple(JOBS)),
    "of": st.sampled_from(tuple(JOBS)),
    "job": st.sampled_from((*JOBS, LATER_TOKENS)),
    "temperature": st.sampled_from([-1, 0, 0.1, 1.0, 3000.0]),
    **dict.fromkeys(
        ("word", "column", "than", "hide", "hide_other"), st.sampled_from(["have", "dream", "zzz", "the end symbol"])
    ),
    "sentence": st.sampled_from(["I have a plan.", "A dog.", "have " * 200]),
    "head": st.sampled_from(["1.1", "3.4", "3.5", "99.99", "0.0", "next", "end", "start", "I -> have", "zzz", ""]),
    "row": st.sampled_from(["1", "2", "0", "-1", "9" * 5000, "have", "dream", "zzz", "", "the end symbol"]),
    "number": st.sampled_from([-(10**400), -5, -3, 0, 1, 2, 4, 16, 17, 30, 112, 3000, 10**6, 10**6 + 1, 10**400]),
}


def written(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def text_of(show: str, parameters: dict[str, object], next_when: str = "read") -> str:
    figure = ", ".join(f"{name} = {written(value)}" for name, value in {"show": show, **parameters}.items())
    return HEAD + 3 * f'{STEP}next_when = "{next_when}"\nfigure = {{ {figure} }}\n'


def build(measured: MeasuredStep) -> None:
    step = measured.step
    if step.show == "map":
        for solved in (False, True):
            first_choice(measured, solved=solved)
    elif step.show == "without":
        without_maps(measured.evidence, **step.figure)
    else:
        assert figure_table(measured) is not None


@st.composite
def figures(draw: st.DrawFn) -> tuple[str, dict[str, object], str]:
    show = draw(st.sampled_from(sorted(FIGURES)))
    needed, optional = FIGURES[show]
    names = [*sorted(needed), *(name for name in sorted(optional) if draw(st.booleans()))]
    parameters = {
        name: draw(
            VALUES[
                "sentence"
                if name == "other" and show in OTHER_SENTENCE
                else "number"
                if isinstance(FIGURE_VALUES[name], range)
                else name
            ]
        )
        for name in names
    }
    return show, parameters, draw(st.sampled_from(["read", "read", "head opened"]))


def refused_or_drawn(small_translator: Translator, what: tuple[str, dict[str, object], str]) -> None:
    try:
        lesson = lesson_of("one", text_of(*what))
    except LessonError:
        return
    step = lesson.steps[0]
    broken = broken_claims(lesson, CachedRuns(small_translator))
    measured = measured_step(small_translator, step)
    broken = [one for one in broken if "does not hold" not in one]
    if broken:
        assert broken[0].startswith(f"step 1, figure {step.show}: ")
        with pytest.raises(AtlasError):
            build(measured)
    else:
        build(measured)


def test_any_lesson_figure_is_either_rejected_or_drawn(small_translator):
    few(60)(given(what=figures())(lambda what: refused_or_drawn(small_translator, what)))()


@pytest.mark.thorough
def test_a_thousand_random_lesson_figures_are_either_rejected_or_drawn(small_translator):
    few(1000)(given(what=figures())(lambda what: refused_or_drawn(small_translator, what)))()


@pytest.mark.parametrize(
    ("show", "parameters", "message"),
    [
        ("candidates", {"step": 0}, "has step = 0; it must be a whole number from 1 to 1,000,000"),
        ("candidates", {"step": "2"}, "has step = '2'; it must be a whole number"),
        ("example", {"score": 10**9, "other": 96, "width": 64}, "has score = 1000000000; it must be a whole number"),
        ("map", {"kind": "encoder", "head": 3}, "has head = 3; it must be a string"),
        ("without", {"kind": "encoder", "head": "next", "part": "soul"}, "it must be one of: positions, mask"),
        ("worth", {"kind": "encoder"}, "the figure worth needs both kind and head, or neither"),
        ("probabilities", {"kind": "encoder", "head": "1.1", "part": "mask"}, "either a part, or a kind and a head"),
        ("translations", {"temperature": "hot"}, "has temperature = 'hot'; it must be a number"),
        ("vectors", {"word": "dream", "other": 3}, "has other = 3; it must be a string"),
        ("heads", {"of": "kings"}, "it must be one of: previous, next"),
    ],
)
def test_invalid_figure_parameters_raise_an_error(show, parameters, message):
    with pytest.raises(LessonError) as refused:
        lesson_of("one", text_of(show, parameters))
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("show", "parameters", "message"),
    [
        ("candidates", {"step": 30}, "there is no step 30: this translation has steps 1 to 6"),
        ("removed", {"count": 73}, "count must be from 1 to 72 (half of the heads), not 73"),
        ("map", {"kind": "encoder", "head": "99.99"}, "there is no head '99.99': this model has 6 layers of 8 heads"),
        ("map", {"kind": "encoder", "head": "next", "row": "zzz"}, "there is no word 'zzz' in “I have a dream.”"),
        ("scores", {"kind": "decoder", "head": "end", "row": "1"}, "decoder heads have no metric 'end'"),
        ("links", {"row": "have", "column": "zzz", "than": "I"}, "there is no word 'zzz' in “I have a dream.”"),
        ("vectors", {"word": "dream", "other": "A dog."}, "there is no word 'dream' in “A dog.”"),
        ("map", {"kind": "encoder", "head": "next", "bars": "alignment"}, "encoder heads have no"),
        (
            "without",
            {"kind": "encoder", "head": "next", "part": "mask", "job": "later"},
            "the job 'later' needs decoder heads",
        ),
    ],
)
def test_lesson_figure_that_the_model_cannot_show_is_reported(shipped, show, parameters, message):
    """The claims of these lessons hold; only their figures are impossible."""
    broken = broken_claims(lesson_of("one", text_of(show, parameters)), CachedRuns(shipped))
    assert len(broken) == 3 and f"step 1, figure {show}: {message}" in broken[0]


def test_head_found_by_a_claim_but_missing_from_the_displayed_map_is_reported(small_translator):
    """The claim finds a head in decoder layer 3, but the displayed encoder has two layers."""
    runs = CachedRuns(small_translator)
    text = text_of("map", {"kind": "encoder", "head": "1.1"}, "head opened").replace(
        '{ name = "job", kind = "encoder", job = "next", least = 0.0 }',
        '{ name = "row_sum", kind = "decoder", head = "3.1", row = "1" }',
    )
    lesson = lesson_of("one", text)
    measured = measured_step(small_translator, lesson.steps[0])
    assert "step 1, figure map: there is no head '3.1': this model has 2" in broken_claims(lesson, runs)[0]
    with pytest.raises(LessonError, match="there is no head '3.1'"):
        first_choice(measured, solved=True)


def test_learning_curve_figure_is_rejected_if_the_model_has_no_learning_curve(small_translator):
    broken = broken_claims(lesson_of("one", text_of("learning", {})), CachedRuns(small_translator))
    assert any("figure learning: the model has no learning curve" in one for one in broken)
