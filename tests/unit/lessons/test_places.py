import re

import pytest

from pages.ui.lessons.measured_step import measured_step
from pages.ui.lessons.tables import figure_table, table_of
from pages.ui.runs.inference import CachedRuns
from tests.unit.lessons.test_lesson import TEXT
from transformer.errors import LessonError
from transformer.lessons.folders import lesson_files
from transformer.lessons.lesson import lesson_of, read_lesson
from transformer.lessons.result import broken_claims, values_not_in_figures

FIGURE = 'figure = { show = "map", kind = "encoder", head = "next", row = "have" }'


def first_of(translator, old: str, new: str) -> list[str]:
    """Replace one line in the first step, and return the messages about that step."""
    assert old in TEXT
    lesson = lesson_of("one", TEXT.replace(old, new, 1))
    assert broken_claims(lesson, translator) == [], "it can be shown"
    return [each for each in values_not_in_figures(lesson, translator) if each.startswith("step 1")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (FIGURE, "which the answer names; add to carried_by where the figure shows sum, for example sum = 'sum of"),
        (f'{FIGURE}\ncarried_by = {{ sum = "sum of hat" }}', "'sum of hat' shows sum, but the figure has no cell"),
        (f'{FIGURE}\ncarried_by = {{ sum = "cells of have" }}', "the claim measures 1 and the figure shows 6: "),
        (f'{FIGURE}\ncarried_by = {{ count = "cells of have" }}', "the figure shows sum, which the answer names"),
        ('figure = { show = "orders", other = "A dog." }', "the figure does not show sum (1): choose another figure"),
    ],
)
def test_lesson_claim_with_a_value_missing_from_its_figure_is_reported(copying_translator, line, message):
    (said,) = first_of(copying_translator, FIGURE, line)
    assert message in said


@pytest.mark.parametrize("place", ["sum of have", "sum of {row}"])
def test_lesson_claim_with_a_value_shown_in_its_figure_is_accepted(copying_translator, place):
    if "{" in place:
        with pytest.raises(LessonError, match="there is no value row"):
            first_of(copying_translator, FIGURE, f'{FIGURE}\ncarried_by = {{ sum = "{place}" }}')
    else:
        assert first_of(copying_translator, FIGURE, f'{FIGURE}\ncarried_by = {{ sum = "{place}" }}') == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('carried_by = "sum"', "carried_by is 'sum'; for each value, name the place"),
        (
            'carried_by = { total = "sum of have" }',
            "carried_by names 'total', but the claim row_sum does not measure this; use one of: sum",
        ),
        (
            'before = { show = "map", kind = "encoder", head = "next" }',
            "before must show a map, and figure must show one of",
        ),
    ],
)
def test_invalid_location_of_a_claimed_value_in_a_figure_raises_an_error(line, message):
    with pytest.raises(LessonError, match=re.escape(message)):
        lesson_of("one", TEXT.replace(FIGURE, f"{FIGURE}\n{line}", 1))


@pytest.mark.parametrize(
    ("name", "step", "value"),
    [
        ("why_attention", 5, "more"),
        ("mask", 4, "average"),
        ("decoding", 2, "different"),
        ("not_explanation", 5, "place"),
    ],
)
def test_displayed_table_contains_the_value_of_the_claim(shipped, name, step, value):
    """Recomputes each value from the displayed table."""
    measured = measured_step(shipped, read_lesson(lesson_files()[name]).steps[step - 1])
    table, true = figure_table(measured), measured.finding.values[value]
    counted = {
        "more": lambda: sum(one > other for one, other in zip(*table_of(measured).columns.values(), strict=True)),
        "average": lambda: (
            sum(float(cell.strip("%")) / 100 for row in table.iloc[:, 1:].to_numpy() for cell in row)
            / table.iloc[:, 1:].size
        ),
        "different": lambda: int(table[table.columns[0]].str.startswith("sample").sum()),
        "place": lambda: int(table.place[table[table.columns[0]] == measured.finding.values["looked_at"]].iloc[0]),
    }[value]()
    assert counted == pytest.approx(true, abs=0.001 if value == "average" else 0)


def test_figure_of_a_lesson_step_shows_the_head_that_its_claim_found(shipped):
    """The text used to name one head while the figure showed another."""
    measured = measured_step(shipped, read_lesson(lesson_files()["mask"]).steps[2])
    assert measured.figure["head"] == f"{measured.finding.values['layer']}.{measured.finding.values['head']}"
    assert values_not_in_figures(read_lesson(lesson_files()["mask"]), CachedRuns(shipped)) == []
