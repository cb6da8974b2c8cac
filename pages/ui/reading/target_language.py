"""Lets the user choose a multilingual model's languages, with codes such as ">>fra<<" at the start of the text.

The codes are part of the stored text and of the URL, because the model reads them as tokens. The text box hides the
codes, and a new sentence keeps the current codes.
"""

from collections.abc import Sequence

import streamlit as st

from pages.ui.state import session
from pages.ui.state.bind import preset
from pages.ui.text.markup import markdown
from transformer.text.languages import Languages, is_code, language
from transformer.text.vocabulary import split_code, with_code

# Widget keys by the first character of a language code: "<" for source languages, ">" for target languages.
KEYS = {"<": "source_language", ">": "target_language"}
HELP = {
    "<": "The language of the sentence. Its code is a token with its own row and column in the attention maps.",
    ">": "The language to translate into. Its code is the first token that the decoder writes.",
}
BOTH_SIDES = "The languages of the sentence and of its translation."
ONE_SIDE = (
    "This model can translate into several languages. The chosen language's code is the first token of the sentence, "
    "with its own row and column in the attention maps."
)


def chosen_code(codes: Sequence[str]) -> str:
    """Return the language codes at the start of the text; empty if there are none.

    Args:
        codes: the model's language codes.
    """
    return split_code(session.text(), codes)[0]


def text_of_box(codes: Sequence[str]) -> str:
    """Return the text without language codes, for the text box."""
    code, rest = split_code(session.text(), codes)
    return rest.lstrip() if code else rest


def kept_code(text: str, codes: Sequence[str]) -> str:
    """Return a text prefixed with the current language codes, unless the text already has codes."""
    return with_code(text, chosen_code(codes), codes)


def language_choice(codes: Sequence[str], default: Languages) -> None:
    """Show a list for choosing the target language. Choosing a language translates the text again.

    If the model also has codes for source languages, show a menu with a list for the source and one for the target.

    Args:
        codes: the model's language codes.
        default: the languages of a text without codes.
    """
    sides = {side: sorted((code for code in codes if code[0] == side), key=_label) for side in "<>"}
    codes_by_side = {code[0]: code for code in chosen_code(codes).split()}

    def choose() -> None:
        picked = [st.session_state[KEYS[side]] for side, of in sides.items() if of]
        typed_codes = " ".join(code for code in picked if code in codes)
        session.read_text(with_code(text_of_box(codes), typed_codes, codes))

    # On a projector, there is no room for two lists beside the sentence, so they are shown in a popover.
    both = str(default.for_codes(chosen_code(codes)))
    place = st.popover(both, key="languages", width="stretch", help=BOTH_SIDES) if sides["<"] else st
    for side, of in sides.items():
        if not of:
            continue
        default_code = f"<<{default.source.code}>>" if side == "<" else f">>{default.target.code}<<"
        place.selectbox(
            "Read" if side == "<" else "Write in",
            of,
            index=None,
            format_func=_label,
            on_change=choose,
            placeholder=_label(default_code) if default_code in of else "Choose one …",
            key=preset(KEYS[side], codes_by_side.get(side)),
            help=HELP[side] if sides["<"] else ONE_SIDE,
        )


def _label(code: str) -> str:
    inside = code[2:-2]
    return f"{language(inside).name} ({inside})" if is_code(inside) else markdown(inside)
