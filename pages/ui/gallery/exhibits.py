"""Shows the gallery's exhibits: heads whose behaviour can be described, and the sentences that best illustrate it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from attention_atlas.browser.token_labels import displayable, isolate
from pages.ui.components.save_as import figure_component, saveable
from pages.ui.heads.kinds import PAGES
from pages.ui.layout.roles import main_figure
from pages.ui.measurements.recordings import GALLERY
from pages.ui.state import session
from pages.ui.text.head_link import HeadLink
from pages.ui.text.markup import markdown
from transformer.analysis.heads.gallery import MARGIN, MIN_TASK_SHARE, Example, Exhibit, Gallery
from transformer.analysis.heads.tasks import TASK
from transformer.running.translator import Translator
from transformer.text.languages import Languages
from transformer.text.vocabulary import SPACE_MARK, VISIBLE_SPACE

START, END = "(start)", "(end)"
# Session-state key for the exhibit and example that the user clicked, kept until the
# next script run reaches the gallery.
CLICKED = "_clicked_exhibit"

draw_gallery = figure_component("gallery/gallery")


def show_exhibits(gallery: Gallery, translator: Translator) -> None:
    """Show the exhibits found in a model, and list those not found; clicking an exhibit opens its head.

    Args:
        gallery: the gallery computed for the model.
        translator: the model.
    """
    languages = translator.languages
    exhibits = [each for each in gallery.exhibits if each.passes]
    key = "gallery"

    def clicked() -> None:
        st.session_state[CLICKED] = find_example(st.session_state[key].get("open"), exhibits)

    with main_figure(), saveable("gallery", "What individual heads of this model do", sentence=""):
        draw_gallery(
            key=key,
            on_open_change=clicked,
            width="stretch",
            data={"exhibits": [exhibit_data(each, languages) for each in exhibits]},
        )
    opened = st.session_state.pop(CLICKED, None)
    if opened is not None:
        exhibit, example = opened
        st.switch_page(PAGES[exhibit.kind].path, query_params=head_address(exhibit, example))
    missing = [each for each in gallery.exhibits if not each.passes]
    if not gallery.exhibits:
        st.info("There is nothing to show: no translation ended within the length limit.")
    if missing:
        st.caption(f"Not found: {'; '.join(_describe_missing(each, languages) for each in missing)}.")
    st.caption(
        f"`{GALLERY.beside(translator).command}` computes this page from {gallery.sentences} sentences. Each card "
        "has a rule that names the positions that a head should attend to, given the text. Some cross-attention rules "
        f"also use all heads' mean attention. The best head gets the card if at least {MIN_TASK_SHARE:.0%} of its "
        "attention goes to these positions. Unless the rule is general, such as “the previous word”, this percentage "
        f"must also exceed general rules' prediction by at least {100 * MARGIN:.0f} percentage points."
    )


def _describe_missing(exhibit: Exhibit, languages: Languages) -> str:
    """Return Markdown that names a behaviour that no head has, and says how close the best head comes."""
    rule = ""
    if exhibit.rule and exhibit.share >= MIN_TASK_SHARE:
        title = markdown(TASK[exhibit.rule].title_and_meaning(languages)[0])
        rule = f", of which general rules, mainly “{title}”, explain {exhibit.explained:.0%}"
    return (
        f"{markdown(TASK[exhibit.task].title_and_meaning(languages)[0])} (at most {exhibit.share:.0%} of a head's "
        f"attention, in {PAGES[exhibit.kind].title.lower()}, "
        f"{HeadLink(exhibit.kind, exhibit.layer, exhibit.head)}{rule})"
    )


def find_example(opened: Any, exhibits: Sequence[Exhibit]) -> tuple[Exhibit, Example] | None:
    """Return the exhibit and example that an untrusted browser message names; None if the message is invalid.

    If the message names no example, return the exhibit's best example.
    """
    if not isinstance(opened, list) or not 1 <= len(opened) <= 2 or not all(type(each) is int for each in opened):
        return None
    number, at = (*opened, 0)[:2]
    if not 0 <= number < len(exhibits) or not 0 <= at < len(exhibits[number].examples):
        return None
    return exhibits[number], exhibits[number].examples[at]


def head_address(exhibit: Exhibit, example: Example) -> dict[str, str]:
    """Return URL parameters that show an exhibit's head on an example sentence and pin the words the head links."""
    params = replace(
        session.attention(),
        layer=exhibit.layer,
        head=exhibit.head,
        words=example.words,
        hide=False,
        rows=example.rows,
        columns=example.columns,
    )
    return session.address_of(example.text, exhibit.kind, params)


def exhibit_data(exhibit: Exhibit, languages: Languages) -> dict[str, Any]:
    """Return an exhibit as data for the JavaScript component."""
    (title, meaning), page = TASK[exhibit.task].title_and_meaning(languages), PAGES[exhibit.kind]

    def href(example: Example) -> str:
        return f"{page.address}?{urlencode(head_address(exhibit, example))}"

    head = f"{page.title}, {HeadLink(exhibit.kind, exhibit.layer, exhibit.head)}"
    general_part = f"; general rules explain at most {exhibit.explained:.0%} of the attention"
    explained = "" if TASK[exhibit.task].general else general_part
    return {
        "title": title,
        "meaning": meaning,
        "head": {"label": head, "href": href(exhibit.examples[0])},
        "numbers": f": {exhibit.share:.0%} of its attention follows this pattern, on average over {exhibit.rows:,} "
        f"rows (average head of the same attention kind: {exhibit.everyone:.0%}{explained}).",
        "examples": [{**example_data(exhibit, each, languages), "href": href(each)} for each in exhibit.examples],
    }


def visible_text(label: str) -> str:
    """Return a label as it is shown to users; a single space becomes a visible character."""
    return VISIBLE_SPACE if label == SPACE_MARK else displayable(label)


def example_data(exhibit: Exhibit, example: Example, languages: Languages) -> dict[str, Any]:
    """Return an example sentence as data for the JavaScript component: the attending word, and each word's weight."""
    labels = [visible_text(label) or (START if exhibit.kind == "decoder" else END) for label in example.labels]
    read, written = visible_text(example.read), visible_text(example.written)
    if exhibit.kind == "encoder":
        before, looking, after = "", read, " looks at"
    elif exhibit.task == "alignment_read":
        before, looking, after = "having read “", read or START, "”, it looks at"
    elif written:
        before, looking, after = "before it writes “", written, "”, it looks at"
    else:
        before, looking, after = "before it writes ", "the end symbol", ", it looks at"
    aim, weight = labels[example.looked_at], example.weights[example.looked_at]
    translation = "" if exhibit.kind == "encoder" else f" {languages.target.name}: {isolate(example.target)}"
    return {
        "label": f"{before}{looking}{after} {aim} with {weight:.2f}: {example.text}",
        "before": before,
        "looking": looking,
        "after": after,
        "direction": (languages.target if exhibit.kind == "decoder" else languages.source).direction,
        "words": [
            {"label": label, "weight": share, "aim": number == example.looked_at}
            for number, (label, share) in enumerate(zip(labels, example.weights, strict=True))
        ],
        "about": f"{weight:.2f} on “{isolate(aim)}”.{translation}",
    }
