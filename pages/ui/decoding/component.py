"""JavaScript component that shows how a text is decoded. The browser receives all steps in one message."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

import streamlit as st

from pages.ui.components.save_as import figure_component, saveable
from pages.ui.components.synced_state import SyncedState
from pages.ui.decoding.payload import decoding_payload
from pages.ui.decoding.visited_translations import (
    decoded_text,
    forget_visited,
    ids_of,
    use_on_all_pages,
    visited_translations,
)
from pages.ui.params.attention import AttentionParams
from pages.ui.params.decoding import DecodingParams
from pages.ui.reading.sentence import Reading
from pages.ui.state import session
from transformer.decoding.texts import MAX_CHARACTERS, MAX_TOKENS
from transformer.text.vocabulary import TextVocabulary
from transformer.values.translation import TracedTranslation

KEY = "decoding_steps"
P = TypeVar("P", bound=DecodingParams)


@dataclass(frozen=True)
class DecodingView:
    """State that the user can change in the component: the decoding parameters, and the layer and head shown."""

    params: DecodingParams
    layer: int
    head: int

    def to_browser(self) -> dict[str, Any]:
        return {**asdict(self.params), "layer": self.layer, "head": self.head}


SYNCED: SyncedState[DecodingView] = SyncedState("_decoding")
draw_steps = figure_component("decoding_steps/decoding_steps")


def decoding_steps(reading: Reading, traced: TracedTranslation, params: DecodingParams) -> None:
    """Show, step by step, how the model decodes a translation.

    Args:
        reading: the sentence and its model run.
        traced: the decoded translation.
        params: the parameters that produced the translation.
    """
    model, choice, given = reading.translator, reading.choice("cross"), reading.given
    decoded, own_ids = decoded_text(traced), ids_of(reading.own.predicted_tokens)

    def message(request: dict[str, Any]) -> bytes:
        visited = visited_translations(reading, traced, params)
        head = choice.layer, choice.head
        return decoding_payload(traced, visited, params, model.tokenizer, request, head, reading.languages)

    # Streamlit keeps callbacks for the whole session, so they must not keep a trace in memory.
    def restarted() -> None:
        forget_visited()
        session.store(DecodingParams(show=params.show, search=given))

    draw_decoding(
        KEY,
        traced,
        params,
        choice,
        model.tokenizer,
        lambda text: model.tokenizer.encode_ids(text, end=False),
        message,
        # `search` makes the page ignore the user's own translation. Set it only if there is such a translation.
        store=lambda params: session.store(replace(params, search=params.search and given)),
        restart=restarted,
        read=lambda: use_on_all_pages(decoded, own_ids, params, model.tokenizer),
    )


def draw_decoding(
    key: str,
    traced: TracedTranslation,
    params: DecodingParams,
    choice: AttentionParams,
    tokenizer: TextVocabulary,
    encode: Callable[[str], list[int]],
    message: Callable[[dict[str, Any]], bytes],
    *,
    store: Callable[[DecodingParams], None],
    restart: Callable[[], None],
    read: Callable[[], None] = lambda: None,
) -> None:
    """Show a decoded text step by step, and store what the user chooses.

    Args:
        key: the component's Streamlit key.
        traced: the decoded text.
        params: the parameters that produced the text. `store` receives changed parameters of the same class.
        choice: the head shown. A newly chosen head is stored in the settings of the same class.
        tokenizer: provides the token labels.
        encode: converts a typed word to token ids.
        message: builds the message for the browser from a request number and the parameters to show.
        store: stores changed parameters.
        restart, read: called when the user clicks the "restart" or "read" button.
    """
    layers, heads = traced.trace.decoder.shape[:2]
    if session.params(type(params)).step > params.step:
        # To open a text at its last step, a slide requests a step beyond the end. Store the last step instead.
        session.update(type(params), step=params.step)
        session.rewrite_address()
    session.note_head(choice)
    sight = DecodingView(params, choice.layer, choice.head)
    stays = session.was_drawn(key) and SYNCED.shown == sight
    request = SYNCED.request(sight, new=not stays)

    def chosen() -> None:
        message = st.session_state[key].get("params")
        store(type(params).from_browser(message).within(tokenizer.size, tokenizer.symbols))
        view = type(choice).from_browser(message).within(layers, heads).or_at(choice.layer, choice.head)
        if (view.layer, view.head) != (choice.layer, choice.head):
            before = session.attention(of=type(choice))
            session.store_attention(replace(before, layer=view.layer, head=view.head))
        SYNCED.received(message, DecodingView(session.params(type(params)), view.layer, view.head))

    def typed() -> None:
        typed_params = with_typed(st.session_state[key].get("typed"), tokenizer, encode, type(params))
        if typed_params is not None:
            store(typed_params)

    def restarted() -> None:
        restart()
        # Treat the next state as a new request, even if it equals the previous state.
        SYNCED.forget()

    # The component contains two figures: one decoding step and, below it, the beam-search tree.
    with (
        saveable(
            "beam_tree", "The beam-search tree", when=traced.translation.tree is not None, label="Save the tree as"
        ),
        saveable("decoding_steps", "The translation, step by step", label="Save this step as"),
    ):
        draw_steps(
            key=key,
            width="stretch",
            on_params_change=chosen,
            on_typed_change=typed,
            on_restart_change=restarted,
            on_read_change=read,
            data=message({"number": request.number, "params": request.state.to_browser()}),
        )


def with_typed(typed: Any, tokenizer: TextVocabulary, encode: Callable[[str], list[int]], of: type[P]) -> P | None:
    """Return parameters that continue the text with a word that the user typed; None if there is no valid word.

    Args:
        typed: untrusted browser message, with the parameters that force all tokens before the word, and the word as
            `text`.
        tokenizer: the vocabulary.
        encode: converts the word to token ids.
        of: the class of the parameters.
    """
    if not isinstance(typed, dict) or not isinstance(typed.get("text"), str):
        return None
    params = of.from_browser(typed).within(tokenizer.size, tokenizer.symbols)
    # Keep one more token than allowed, so that the usual error message appears.
    tokens = encode(typed["text"][:MAX_CHARACTERS])[: MAX_TOKENS + 1]
    return replace(params, forced=(*params.forced, *tokens)) if tokens else None
