"""The notebooks of examples/ run from top to bottom, and are stored without outputs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pages.ui.charts.saving import json_text
from pages.ui.reading.sentence import Reading
from pages.ui.runs.inference import CachedRuns
from pages.ui.switch_heads_off.effect import step_table
from pages.ui.switch_heads_off.export import run_facts
from transformer.ablation.effect import effect_of
from transformer.values.interventions import Interventions, parse_head

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def code_cells(notebook):
    return [cell for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("notebook", [
    pytest.param(path, marks=pytest.mark.thorough) if path.name == "interventions.ipynb" else path for path in NOTEBOOKS
], ids=lambda path: path.name)
def test_every_cell_runs(notebook, capsys):
    """All cells run in one namespace, as in a kernel; a kernel adds only the display of a cell's last value."""
    names = {}
    for number, cell in enumerate(code_cells(notebook), start=1):
        exec(compile("".join(cell["source"]), f"{notebook.name}, code cell {number}", "exec"), names)
    printed = capsys.readouterr().out
    assert "Die Katze" in printed and "the same: True" in printed


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_no_output_is_stored(notebook):
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code_cells(notebook))


def test_five_lines_reproduce_the_pages_export(shipped, capsys):
    """The numbers come from a file of Save as JSON, not from the notebook's own example."""
    cells = ["".join(cell["source"]) for cell in code_cells(EXAMPLES / "interventions.ipynb")]
    (number,) = (number for number, cell in enumerate(cells) if "exported = {" in cell)
    off = Interventions(gates={("cross", 5, 4): 0.25, ("encoder", 0, 2): 0.25}, mode="mean")
    effect = effect_of(shipped, "I have a dream.", off)
    reading = Reading(CachedRuns(shipped), effect.before, effect.before)
    exported = json.loads(json_text(run_facts(reading, off), {"numbers": step_table(effect)}))
    names = {"translator": shipped, "exported": exported, "Interventions": Interventions, "parse_head": parse_head}
    repeat = cells[number + 1]
    assert len(repeat.splitlines()) == 5
    exec(compile(repeat, "repeat", "exec"), names)
    scores = names["scores"]
    steps = [(row["change"], row["kl"]) for row in exported["numbers"]]
    np.testing.assert_allclose(
        np.transpose([scores.log_probs[0] - scores.baseline, scores.kl[0]]), steps, atol=1e-6
    )
    assert capsys.readouterr().out


def test_examples_exist():
    assert NOTEBOOKS
