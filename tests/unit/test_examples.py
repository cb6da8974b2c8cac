"""Tests that the notebooks in examples/ run from top to bottom, and that notebooks with widgets are stored with
pictures.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from pages.ui.charts.downloads import json_text
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


# Output that each notebook with a widget prints.
PRINTED = {
    "browser": "▁die looks at ▁milk with 0.70",
    "huggingface_decoder": "(3, 4, 7, 7)",
    "huggingface_encoder_decoder": "('encoder', 'decoder', 'cross') (3, 4, 6, ",
}


@pytest.mark.parametrize(
    "notebook",
    [path if path.stem == "browser" else pytest.param(path, marks=pytest.mark.thorough) for path in NOTEBOOKS],
    ids=lambda path: path.name,
)
def test_every_notebook_runs_and_prints_the_expected_text(notebook, capsys, tmp_path, monkeypatch):
    """All cells run in one namespace, as in a kernel; only the display of a cell's last value is missing."""
    monkeypatch.chdir(tmp_path)
    names = {}
    for number, cell in enumerate(code_cells(notebook), start=1):
        exec(compile("".join(cell["source"]), f"{notebook.name}, code cell {number}", "exec"), names)
    printed = capsys.readouterr().out
    assert PRINTED.get(notebook.stem, "Die Katze") in printed and ("the same: True" in printed) == (
        notebook.stem not in PRINTED
    )


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_stored_notebook_outputs_are_pictures_that_need_no_kernel(notebook):
    outputs = [output for cell in code_cells(notebook) for output in cell["outputs"]]
    shown = [output["data"] for output in outputs if output["output_type"] != "stream"]
    assert all(set(data) == {"text/html", "text/plain"} for data in shown)
    assert bool(shown) == (notebook.stem in PRINTED)


def test_five_lines_of_code_reproduce_a_page_export(shipped, capsys):
    """The numbers come from a page's JSON export, not from the notebook's own example."""
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
    np.testing.assert_allclose(np.transpose([scores.log_probs[0] - scores.baseline, scores.kl[0]]), steps, atol=1e-6)
    assert capsys.readouterr().out


def test_examples_folder_contains_notebooks():
    assert NOTEBOOKS
