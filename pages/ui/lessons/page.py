"""Shows one step of a lesson: text and question on the left, the figure on the right."""

import re
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui.bets.ask import ask
from pages.ui.bets.offer import show_score
from pages.ui.bets.verdict import verdict
from pages.ui.charts.downloads import save_button
from pages.ui.components.experiment import embed_experiment, experiment_buttons
from pages.ui.heads.kinds import PAGES
from pages.ui.layout.roles import aside, is_lecture_mode, words_and_figure
from pages.ui.lessons.clicks import describe_wrong_choice, is_done
from pages.ui.lessons.figures import chosen_in_map, first_choice, is_hidden, show_map, show_table_figure, show_without
from pages.ui.lessons.handouts import handout, lesson_file, worksheet
from pages.ui.lessons.measured_step import MeasuredStep, finding_run, measured_step
from pages.ui.lessons.navigation import answer_question, open_step, show_navigation
from pages.ui.params.lessons import LessonParams
from pages.ui.params.model import ModelParams
from pages.ui.reading.model_picker import has_several_models, load
from pages.ui.runs.inference import CachedRuns
from pages.ui.state import session
from pages.ui.text.markup import markdown
from pages.ui.text.server_paths import error_text
from transformer.checkpoints.available_models import model_folder
from transformer.errors import AtlasError
from transformer.lessons.claims.ablation import KIND_NAMES
from transformer.lessons.lesson import Lesson, read_lesson
from transformer.running.translator import Translator
from transformer.values.trace import Kind

# Figures that contain a wide table get more of the page's width.
WIDE_FIGURES = ("translations", "needed")
# The app's start page. Its URL has no path.
START_PAGE = "translate"


def show_lesson(path: Path) -> None:
    """Show the open step of a lesson, or an error message if the lesson cannot be read or checked."""
    params = session.params(LessonParams)
    try:
        lesson = read_lesson(path)
        folder = model_folder(lesson.model)
    except (AtlasError, OSError) as error:
        _refuse(error)
        return
    number = params.shown_step
    model = load(folder.path)
    title = f"{markdown(lesson.title)} · {number + 1} of {len(lesson.steps)}"
    with aside("lesson_head"):
        head, back = st.columns([8, 2], vertical_alignment="center")
        head.markdown(f"##### {title}")
        if has_several_models():
            head.caption(f"This lesson uses the model {folder}, even if you chose another one on other pages.")
        back.button("All lessons", icon=":material/list:", width="stretch", on_click=open_step, args=("",))
    try:
        lesson_step = measured_step(model, lesson.steps[number])
        experiment = embed_experiment(CachedRuns(model), finding_run(lesson_step.step))
        words, figure = words_and_figure(
            f"**{title}:** {markdown(lesson.steps[number].sentence)}", wide=lesson_step.step.show in WIDE_FIGURES
        )
        with figure:
            done, remark = _show_figure(lesson_step, params, number)
        if done and number == len(lesson.steps) - 1:
            # Mark the lesson as done as soon as the last step is done, because the user may
            # leave the page in many ways.
            session.store(session.params(LessonParams).with_done(lesson.id))
            session.rewrite_address()
        with words, st.container(key="lesson_words"):
            _show_words(lesson_step, params, done, remark, lesson.model)
            show_navigation(lesson, number, done=done)
        with _show_more(lesson, lesson_step, model):
            if done:
                experiment_buttons(CachedRuns(model), experiment, "lesson")
    except AtlasError as error:
        _refuse(error)


def _refuse(error: Exception) -> None:
    st.warning(error_text(error), icon=":material/edit:")
    st.button("All lessons", key="lesson_back", on_click=open_step, args=("",))


def _show_figure(lesson_step: MeasuredStep, params: LessonParams, number: int) -> tuple[bool, str]:
    """Show the figure of a step. Return whether the step's task is done, and a Markdown comment on a wrong click.

    Args:
        lesson_step: the step.
        params: the open lesson and the user's answer.
        number: the 0-based number of the step.
    """
    step, remark = lesson_step.step, ""
    done = step.next_when == "read" or bool(params.answer)
    waiting = is_hidden(lesson_step, done=done)
    shown_step = lesson_step.before if waiting else lesson_step
    if shown_step is None:
        st.container(border=True).markdown("The figure appears with the answer.")
    elif shown_step.step.show == "map":
        opened = params.id, number
        clicked = None if done or waiting else chosen_in_map(lesson_step, opened)
        if clicked is not None:
            done = is_done(lesson_step, clicked)
            if done:
                # Store the answer in the URL, so that it survives later clicks.
                session.update(LessonParams, answer="1")
                session.rewrite_address()
            else:
                remark = describe_wrong_choice(lesson_step, clicked)
        show_map(shown_step, opened, done=done)
    elif step.show == "without":
        show_without(lesson_step, done=done)
    else:
        show_table_figure(lesson_step)
    return done, remark


def _show_words(lesson_step: MeasuredStep, params: LessonParams, done: bool, remark: str, model: str) -> None:
    step = lesson_step.step
    aside("lesson_sentence").markdown(f"**Sentence:** {markdown(step.sentence)}")
    st.markdown(lesson_step.markdown(step.look_for))
    if step.question:
        st.markdown(f"**{markdown(lesson_step.plain(step.question))}**")
    if not done:
        if step.question:
            ask(lesson_step.question, "lesson", answer_question)
        if remark:
            st.container(border=True).markdown(remark)
        return
    outcome = verdict(lesson_step.question, params.answer) if step.question else None
    question_id = f"{params.id} {lesson_step.plain(step.question)} {model}"
    comment, reveal = outcome and outcome.text, with_link(lesson_step, lesson_step.markdown(step.reveal), model)
    # Without the line break, the number in the verdict could run into the first number of the explanation. On a
    # projector, a style sheet hides the break to save a line.
    with st.container(border=True):
        st.markdown(f"{comment}  \n{reveal}" if comment else reveal)
        if outcome and not is_lecture_mode():
            # In a lecture, the audience answers, so the answer does not count towards the user's score.
            show_score(question_id, outcome)
        if not lesson_step.finding.holds:
            st.caption("The lesson's statement does not hold for this model. The numbers above are this model's.")


def _show_more(lesson: Lesson, lesson_step: MeasuredStep, model: Translator) -> DeltaGenerator:
    """Show a link to the page where the user can explore the step, and a menu of handouts. Return their container, to
    which the caller may add buttons.
    """
    step, row = lesson_step.step, st.container(horizontal=True)
    with row:
        if step.address:
            st.link_button(
                "Explore this on its own page", page_address(lesson_step, lesson.model), icon=":material/open_in_new:"
            )
        with st.popover("Print or download", icon=":material/print:"):
            for label, make, name in (
                ("Sheet for students, with an empty table", lambda: worksheet(lesson, model, answers=False), "sheet"),
                ("Sheet with the answers", lambda: worksheet(lesson, model, answers=True), "answers"),
                ("The whole lesson as one file, for offline use", lambda: lesson_file(lesson, model), "lesson"),
            ):
                save_button(
                    label,
                    partial(handout, lesson, make),
                    f"{lesson.id}-{name}.html",
                    key=f"lesson_{name}",
                    icon=None,
                    width="stretch",
                )
    return row


def with_link(lesson_step: MeasuredStep, text: str, model: str) -> str:
    """Return a Markdown text in which the name of the measured head links to the head's map.

    If no head was measured, the text stays unchanged.

    Args:
        lesson_step: the step.
        text: one of the step's texts, as Markdown.
        model: the name of the lesson's model.
    """
    step, values = lesson_step.step, lesson_step.finding.values
    kinds_by_name: dict[str, Kind] = {name: kind for kind, name in KIND_NAMES.items()}
    kind: Kind | None = kinds_by_name.get(str(values.get("kind")), step.parameters.get("kind", step.figure.get("kind")))
    if kind is None or not {"layer", "head"} <= set(values):
        return text
    head = {"text": step.sentence, "layer": values["layer"], "head": values["head"]}
    address = urlencode(head | ModelParams(model).to_address())
    return re.sub(r"[Ll]ayer \*\*\d+\*\*\\?, head \*\*\d+\*\*", rf"[\g<0>]({PAGES[kind].address}?{address})", text)


def page_address(lesson_step: MeasuredStep, model: str) -> str:
    """Return the URL of the page that a step links to. The URL contains the model and the step's sentence and, if the
    step shows a map, the head and the pinned row.

    Args:
        lesson_step: the step.
        model: the name of the lesson's model.
    """
    page, _, query = lesson_step.step.address.partition("?")
    address = {"text": lesson_step.step.sentence, **ModelParams(model).to_address()}
    if lesson_step.step.show == "map":
        choice = first_choice(lesson_step, solved=True)
        address |= {name: text for name, text in choice.to_address().items() if name != "rows"}
        if choice.rows:
            address[f"{lesson_step.figure['kind']}_rows"] = ".".join(map(str, choice.rows))
    return f"/{'' if page == START_PAGE else page}?{urlencode(address)}" + (f"&{query}" if query else "")
