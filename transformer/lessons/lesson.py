"""Parses and validates lessons: TOML files of three to seven steps. For the format, see docs/lessons.md."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

from transformer.checkpoints.available_models import SHIPPED
from transformer.errors import LessonError
from transformer.files.paths import APP
from transformer.files.small_files import read_small
from transformer.lessons.claims import check_call
from transformer.lessons.document import quoted, read_document
from transformer.lessons.figures import read_figure
from transformer.lessons.folders import ID, MAX_BYTES, MAX_STEPS, id_of
from transformer.lessons.tables import TABLES
from transformer.lessons.template import names

NextWhen = Literal["read", "answered", "row pinned", "head opened"]
NEXT_WHEN: tuple[NextWhen, ...] = get_args(NextWhen)
# Maximum number of words on screen at once. It applies to `look_for` and `question` together, and to `reveal` alone.
MAX_WORDS = 40
MIN_STEPS = 3
MAX_CHOICES = 6
ADDRESS = re.compile(r"[a-z_]{1,40}(\?[A-Za-z0-9_=&.,+%-]{1,1000})?")
# Pages of the app that a step can link to.
PAGES = tuple(sorted(path.stem for path in (APP / "pages").glob("[a-z]*.py")))
CONTROL = re.compile(r"[\x00-\x1f\x7f\ue000-\uf8ff\u202a-\u202e\u2066-\u2069]")
LESSON_FIELDS = ("title", "summary", "sentence", "model", "steps")
STEP_FIELDS = (
    "look_for",
    "question",
    "choices",
    "answer",
    "guess",
    "percent",
    "reveal",
    "next_when",
    "address",
    "sentence",
    "claim",
    "figure",
    "carried_by",
    "before",
)


@dataclass(frozen=True)
class LessonStep:
    """One screen of a lesson.

    Attributes:
        look_for: text that says what to notice in the figure.
        question: question to answer before `reveal` is shown; empty for none.
        choices: possible answers; empty if the user guesses a number.
        answer: the correct choice.
        guess: name of the value that the user guesses; empty if there are choices.
        percent: whether the user guesses a percentage.
        reveal: text shown after the answer, with the measured values.
        next_when: user action that opens the next step.
        address: app page with more about the subject, as a URL path with parameters; empty for none.
        sentence: the step's sentence.
        claim: name of the claim whose values the texts quote.
        parameters: the claim's parameters.
        show: name of the figure, a key of FIGURES.
        figure: the figure's parameters; text parameters may quote values too.
        carried_by: for each quoted value, the place in the figure that shows it (see `transformer.lessons.places`).
            Names of places may quote values too.
        before: parameters of the map shown until the user answers, if `show` would reveal the answer; empty for none.
    """

    look_for: str
    question: str
    choices: tuple[str, ...]
    answer: str
    guess: str
    percent: bool
    reveal: str
    next_when: NextWhen
    address: str
    sentence: str
    claim: str
    parameters: Mapping[str, Any]
    show: str
    figure: Mapping[str, Any]
    carried_by: Mapping[str, str]
    before: Mapping[str, Any]

    @property
    def quoted_places(self) -> tuple[str, ...]:
        """Texts that are not shown but may contain placeholders for values: parameters of figures, and `carried_by`."""
        parameters = (*self.figure.values(), *self.before.values())
        return (*(text for text in parameters if isinstance(text, str)), *self.carried_by.values())


@dataclass(frozen=True)
class Lesson:
    """A lesson: several steps about one subject.

    Attributes:
        id: the lesson's id in URLs: the file name without the leading number and the extension.
        title: title of a few words.
        summary: summary in one sentence.
        sentence: sentence in the model's source language, for all steps without a sentence of their own.
        steps: steps in order.
        model: name of the model to load (`transformer.checkpoints.available_models`).
    """

    id: str
    title: str
    summary: str
    sentence: str
    steps: tuple[LessonStep, ...]
    model: str = SHIPPED


def read_lesson(path: Path) -> Lesson:
    """Read and validate a lesson file.

    Raises:
        LessonError: the file is not a valid lesson; the message says where the error is, and how to correct it.
        OSError: the file cannot be read.
    """
    if path.suffix != ".toml" or not ID.fullmatch(id_of(path)):
        raise LessonError(
            f"{path.name}: the file name must consist of lower-case letters, digits and _, and end in "
            ".toml, as in one_row.toml"
        )
    try:
        data = read_small(path)
    except ValueError as error:
        raise LessonError(str(error)) from error
    if len(data) > MAX_BYTES:
        raise LessonError(f"{path.name}: the file has {len(data):,} bytes; shorten it to at most {MAX_BYTES:,}")
    try:
        return lesson_of(id_of(path), data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise LessonError(f"{path.name}: the file is not UTF-8 text; save it as UTF-8") from error
    except LessonError as error:
        raise LessonError(f"{path.name}: {error}") from error


def lesson_of(name: str, text: str) -> Lesson:
    """Build a lesson from its TOML document.

    Args:
        name: id of the lesson.
        text: the TOML document.

    Raises:
        LessonError: the document is not a valid lesson; the message says where the error is, and how to correct it.
    """
    document = read_document(text)
    _check_fields("the lesson", document, LESSON_FIELDS)
    sentence = _text("the lesson", document, "sentence", needed=True)
    steps = document.get("steps")
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise LessonError("the lesson has no steps: begin each step with the line [[steps]]")
    if not MIN_STEPS <= len(steps) <= MAX_STEPS:
        raise LessonError(f"the number of steps is {len(steps)}; it must be {MIN_STEPS} to {MAX_STEPS}")
    title, summary = (_text("the lesson", document, key, needed=True) for key in ("title", "summary"))
    return Lesson(
        name,
        title,
        summary,
        sentence,
        tuple(_step(f"step {number}", step, sentence) for number, step in enumerate(steps, 1)),
        _text("the lesson", document, "model") or SHIPPED,
    )


def _step(where: str, step: dict[str, Any], sentence: str) -> LessonStep:
    _check_fields(where, step, STEP_FIELDS)
    name, parameters = _call(where, step)
    show, figure = read_figure(where, step)
    choices = step.get("choices", [])
    if not isinstance(choices, list) or not all(isinstance(choice, str) for choice in choices):
        raise LessonError(f'{where}: choices must be a list of strings, such as ["rises", "falls"]')
    next_when = step.get("next_when", "answered" if "question" in step else "read")
    read = LessonStep(
        look_for=_text(where, step, "look_for", needed=True),
        question=_text(where, step, "question"),
        choices=tuple(choices),
        answer=_text(where, step, "answer"),
        guess=_text(where, step, "guess"),
        percent=step.get("percent", False),
        reveal=_text(where, step, "reveal", needed=True),
        next_when=next_when,
        address=_text(where, step, "address"),
        sentence=_text(where, step, "sentence") or sentence,
        claim=name,
        parameters=MappingProxyType(parameters),
        show=show,
        figure=MappingProxyType(figure),
        carried_by=MappingProxyType(_carried_by(where, step)),
        before=MappingProxyType(_before(where, step, show)),
    )
    _check_texts(where, read)
    _check_question(where, read)
    _check_next(where, read)
    if read.address and not ADDRESS.fullmatch(read.address):
        raise LessonError(
            f"{where}: the address {quoted(read.address)} is invalid; write the name of a page and any parameters, "
            "such as cross_attention or inside_a_layer?inside_part=mask"
        )
    if read.address and (page := read.address.partition("?")[0]) not in PAGES:
        raise LessonError(
            f"{where}: the address names the page {quoted(page)}, which does not exist; the pages are: "
            f"{', '.join(PAGES)}"
        )
    return read


def _check_texts(where: str, step: LessonStep) -> None:
    """Check that no text is too long, and that texts quote only the claim's values."""
    values = check_call(step.claim, step.parameters).values
    for texts, what in (((step.look_for, step.question), "look_for and question have"), ((step.reveal,), "reveal has")):
        count = sum(len(text.split()) for text in texts)
        if count > MAX_WORDS:
            raise LessonError(f"{where}: {what} {count} words; at most {MAX_WORDS} may be on the screen at once")
    for text in (step.look_for, step.question, *step.choices, step.answer, step.reveal, *step.quoted_places):
        try:
            quoted_names = names(text)
        except LessonError as error:
            raise LessonError(f"{where}: {error}") from error
        if unknown := quoted_names - set(values):
            raise LessonError(
                f"{where}: there is no value {', '.join(sorted(unknown))}; the claim {step.claim} has: "
                f"{', '.join(values)}"
            )
    if unknown := set(step.carried_by) - set(values):
        raise LessonError(
            f"{where}: carried_by names {', '.join(map(quoted, sorted(unknown)))}, but the claim {step.claim} does not "
            f"measure this; use one of: {', '.join(values)}"
        )
    if step.guess and step.guess not in values:
        raise LessonError(
            f"{where}: guess is {quoted(step.guess)}, but the claim {step.claim} does not measure this; use "
            f"one of: {', '.join(values)}"
        )


def _check_question(where: str, step: LessonStep) -> None:
    """Check that a question has either choices and an answer, or a value to guess."""
    if type(step.percent) is not bool:
        raise LessonError(f"{where}: percent must be true or false, not {quoted(step.percent)}")
    if bool(step.question) != bool(step.choices or step.guess) or bool(step.choices) != bool(step.answer):
        raise LessonError(f"{where}: a question needs either choices and an answer, or a guess that names a value")
    if step.choices and step.guess:
        raise LessonError(f"{where}: a question has either choices or a guess, not both")
    if step.choices and not 2 <= len(step.choices) <= MAX_CHOICES:
        raise LessonError(f"{where}: the question has {len(step.choices)} choices; it must have 2 to {MAX_CHOICES}")
    if step.choices and step.answer not in step.choices and not names(step.answer):
        raise LessonError(
            f"{where}: the answer {quoted(step.answer)} is not among the choices; it must match one of them exactly"
        )


def _check_next(where: str, step: LessonStep) -> None:
    if step.next_when not in NEXT_WHEN:
        raise LessonError(f"{where}: next_when is {quoted(step.next_when)}; it must be one of: {', '.join(NEXT_WHEN)}")
    if (step.next_when == "answered") != bool(step.question):
        raise LessonError(
            f'{where}: next_when is {quoted(step.next_when)}; use "answered" in a step with a question, and only there'
        )
    if step.next_when == "row pinned" and (step.show != "map" or "row" not in step.figure):
        raise LessonError(f'{where}: next_when is "row pinned", which needs show = "map" and a row in the figure')
    if step.next_when == "head opened":
        values = check_call(step.claim, step.parameters).values
        if step.show != "map" or not {"layer", "head"} <= set(values):
            raise LessonError(
                f'{where}: next_when is "head opened", which needs a map as the figure, and a claim with the values '
                "layer and head"
            )


def _call(where: str, step: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    claim = step.get("claim")
    if not isinstance(claim, dict) or not isinstance(claim.get("name"), str):
        raise LessonError(f'{where}: the claim is missing; write one such as claim = {{ name = "head_count" }}')
    parameters = {key: value for key, value in claim.items() if key != "name"}
    try:
        check_call(claim["name"], parameters)
    except LessonError as error:
        raise LessonError(f"{where}: {error}") from error
    return claim["name"], parameters


def _carried_by(where: str, step: dict[str, Any]) -> dict[str, str]:
    places = step.get("carried_by", {})
    if not isinstance(places, dict) or not all(isinstance(place, str) for place in places.values()):
        raise LessonError(
            f"{where}: carried_by is {quoted(places)}; for each value, name the place that shows it in the figure, "
            'such as { weight = "it -> animal" }'
        )
    return {name: _text(where, places, name, needed=True) for name in places}


def _before(where: str, step: dict[str, Any], show: str) -> dict[str, Any]:
    if "before" not in step:
        return {}
    before, parameters = read_figure(f"{where}, before", {"figure": step["before"]})
    if before != "map" or show not in TABLES:
        raise LessonError(
            f"{where}: before shows {quoted(before)}, and figure shows {quoted(show)}; before must show a map, and "
            f"figure must show one of: {', '.join(TABLES)}"
        )
    return parameters


def _check_fields(where: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    if unknown := ", ".join(quoted(key) for key in table if key not in known):
        raise LessonError(f"{where}: unknown field {unknown}; the fields are: {', '.join(known)}")


def _text(where: str, table: Mapping[str, Any], key: str, *, needed: bool = False) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise LessonError(f"{where}: {key} is {quoted(value)}; it must be a string in quotes")
    value = " ".join(value.split())
    if CONTROL.search(value):
        raise LessonError(f"{where}: {key} has an invisible character: retype the text")
    if needed and not value:
        raise LessonError(f"{where}: {key} is missing")
    return value
