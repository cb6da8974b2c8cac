"""Exports the page's numbers, with Python code and all facts that are needed to reproduce them."""

from typing import Any

from pages.ui.change_attention.change_lines import change_lines
from pages.ui.change_attention.next_word import chosen_step, next_table, step_table
from pages.ui.change_attention.resolution import ResolvedEdits
from pages.ui.charts.downloads import save_tables, save_trace, show_lines
from pages.ui.components.experiment import experiment_buttons
from pages.ui.reading.sentence import Reading
from transformer.ablation.continuation import Continuation, RereadRun
from transformer.experiments.experiment import Experiment

MODE = "edited attention: rows with weights set by the user, and erased tokens that no other token looks at"
BASELINE = "the model as trained, which reads the same translation"


def show_repeat(reading: Reading, resolved: ResolvedEdits, continuation: Continuation, experiment: Experiment) -> None:
    """Show Python code that repeats the model run with the user's changes, and buttons that download the results."""
    show_lines(python_code(reading, resolved, continuation), "edit")
    with save_tables(
        "changed_attention",
        "edit",
        run_facts(reading, resolved, continuation),
        {"next": next_table(continuation, reading.translator.tokenizer), "steps": step_table(continuation)},
    ):
        experiment_buttons(reading.runs, experiment, "edit")
    runs, run = reading.runs, RereadRun(reading.run, resolved.interventions)
    save_trace(lambda: runs.get(run), "edit")


def python_code(reading: Reading, resolved: ResolvedEdits, continuation: Continuation) -> str:
    """Return Python code that prints the changed model's translation."""
    # If the translation is the model's own and the page chose the step, no prefix is needed: up to this step, the
    # changed model writes the same words.
    is_own = not reading.given and chosen_step(reading) is None
    prefix = () if is_own else tuple(token.id for token in reading.trace.predicted_tokens[: continuation.step])
    return change_lines(
        reading.trace, resolved.edits.edits, resolved.interventions, prefix, folder=reading.translator.folder
    )


def run_facts(reading: Reading, resolved: ResolvedEdits, continuation: Continuation) -> dict[str, Any]:
    """Return the facts that identify the model run: model, sentence, translations and changes.

    Edits are written as in the URL. Positions and steps are 1-based, except in the exported Python code.
    """
    changed = resolved.interventions
    return {
        "model": reading.translator.version,
        "sentence": reading.trace.source_text,
        "translation": reading.trace.target_text,
        "mode": MODE,
        "baseline": BASELINE,
        "edits": str(resolved.edits),
        "erased_source": [position + 1 for position in changed.hidden_source],
        "erased_target": [position + 1 for position in changed.hidden_target],
        "step": continuation.step + 1,
        "written": continuation.written.text,
        "python": python_code(reading, resolved, continuation),
    }
