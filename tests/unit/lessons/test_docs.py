import re
from pathlib import Path

import pytest

from transformer.lessons.figures import FIGURES
from transformer.lessons.lesson import LESSON_FIELDS, NEXT_WHEN, STEP_FIELDS, lesson_of
from transformer.lessons.result import broken_claims, values_not_in_figures

TEXT = (Path(__file__).parents[3] / "docs" / "lessons.md").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_example_lesson_in_the_docs_is_valid_and_makes_only_true_claims(shipped):
    (example,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    lesson = lesson_of("dream", example)
    assert broken_claims(lesson, shipped) == values_not_in_figures(lesson, shipped) == []


def test_docs_list_every_field_and_figure_of_a_lesson():
    for name in (*LESSON_FIELDS, *STEP_FIELDS, *FIGURES):
        assert f"`{name}`" in TEXT or f"[[{name}]]" in TEXT, name
    assert all(f'`"{name}"`' in TEXT for name in NEXT_WHEN)
