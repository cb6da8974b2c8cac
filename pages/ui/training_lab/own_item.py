"""Lets the user type an item, and shows the model's answer at the chosen training step."""

import streamlit as st

from attention_atlas.browser.labels import TITLES
from pages.ui.components.side_by_side import Map, side_by_side
from pages.ui.components.text_box import text_box
from pages.ui.params.training_lab import NEWEST, LabParams
from pages.ui.runs.inference import MODEL_LOCK
from pages.ui.state import session
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from pages.ui.training_lab.payload import END, kind_labels, mask_of
from transformer.errors import TaskError
from transformer.tasks.answer import TaskAnswer, answer
from transformer.tasks.registry import task_named
from transformer.tasks.run import Snapshot, TaskRun
from transformer.values.kinds import Kind

# Session-state key that stores an invalid item and its task, so that the box still shows the item.
TYPED_ITEM = "_typed_item"
# Session-state key of the last answer and of the values that determine the answer.
LAST_ANSWER = "_answered"


def show_own_item(run: TaskRun, name: str, heads: dict[Kind, tuple[int, int]]) -> None:
    """Let the user type an item; show the model's answer, and its attention maps while it writes the answer.

    Args:
        run: the training run.
        name: a name that distinguishes the training run from the user's other training runs.
        heads: the (layer, head) to show for each attention kind.
    """
    task = task_named(run.config.task)
    params = session.params(LabParams)
    asked, typed = st.session_state.get(TYPED_ITEM) or (None, "")
    text = params.item or (typed if asked == task.name else "")

    def submitted(typed: str) -> None:
        read = LabParams.checked("item", "".join(typed.split()))
        session.update(LabParams, item=read or "")
        st.session_state[TYPED_ITEM] = None if read else (task.name, typed)

    st.markdown("**Ask the model at this training step**", help=explain("exact match", "attention weight"))
    text_box(
        "lab_item",
        text,
        submitted,
        label="Your own item",
        placeholder=task.example,
        button="Ask",
        belongs=task.name,
        help=f"{task.description} For example: {task.example}.",
    )
    if not text and asked != task.name:
        return
    snapshot = run.with_weights(len(run.snapshots) - 1 if params.moment == NEWEST else run.index_at(params.moment))
    try:
        task_answer = _cached_answer(run, name, snapshot, text)
    except TaskError as error:
        st.warning(markdown(str(error)[:1].upper() + str(error)[1:]) + ".")
        return
    st.markdown(describe_answer(task_answer, run, snapshot))
    labels = kind_labels(
        task_answer.item.source, task_answer.reads[1:], (*task_answer.written, *([END] if task_answer.ended else []))
    )
    side_by_side(
        [
            Map(
                f"{TITLES[kind]}, head {head + 1}"
                if run.config.layers == 1
                else f"{TITLES[kind]}, layer {layer + 1}, head {head + 1}",
                *labels[kind],
                task_answer.attention[kind][layer, head],
                mask_of(kind, task_answer.attention[kind]),
            )
            for kind, (layer, head) in heads.items()
        ],
        "lab_answer",
        sentence=f"Item: {task.write(task_answer.item.source)}",
    )


def _cached_answer(run: TaskRun, name: str, snapshot: Snapshot, text: str) -> TaskAnswer:
    key = (name, run.config, snapshot.step, text)
    last_question, task_answer = st.session_state.get(LAST_ANSWER, (None, None))
    if last_question != key:
        with MODEL_LOCK:
            task_answer = answer(run.config, snapshot, text)
        st.session_state[LAST_ANSWER] = key, task_answer
    return task_answer


def describe_answer(task_answer: TaskAnswer, run: TaskRun, snapshot: Snapshot) -> str:
    """Return Markdown that states the model's answer, whether it is right, and the probability of each token."""
    task = task_named(run.config.task)
    right = task.write(task_answer.item.target)
    text = task.write(task_answer.written) or "nothing"
    if task_answer.is_right:
        verdict = ":green-background[right]"
    elif not task_answer.ended:
        verdict = f":red-background[wrong]: the model does not stop; the right answer is **{markdown(right)}**"
    else:
        verdict = f":red-background[wrong]: the right answer is **{markdown(right)}**"
    tokens = (*task_answer.written, *([END] if task_answer.ended else []))
    sure = ", ".join(
        f"{markdown(token)} {share:.2f}" for token, share in zip(tokens, task_answer.probabilities, strict=True)
    )
    return (
        f"After step {snapshot.step:,} the model answers {markdown(task.write(task_answer.item.source))} with "
        f"**{markdown(text)}**: {verdict}.  \nProbability of each token: {sure}."
    )
