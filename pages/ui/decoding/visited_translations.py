"""The translations that the user has viewed for one sentence, including the model's own translation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import streamlit as st

from pages.ui.params.decoding import DecodingParams
from pages.ui.reading.sentence import Reading
from pages.ui.state import session
from pages.ui.text.markup import markdown
from transformer.errors import AtlasError
from transformer.running.runs.translation import DecodingRun
from transformer.text.vocabulary import Vocabulary
from transformer.values.tokens import Token
from transformer.values.translation import TracedTranslation

VISITED_KEY = "_visited"
# Maximum number of listed translations, so that all fit on a screen. The model's own translation is never dropped.
MAX_VISITED = 8
DECODING_FIELDS = (
    "method",
    "beam_size",
    "length_penalty",
    "temperature",
    "top_k",
    "top_p",
    "seed",
    "forced",
    "suppressed",
)


@dataclass(frozen=True)
class VisitedTranslation:
    """A decoded translation that the user has viewed.

    Attributes:
        tokens: token ids, including the end symbol.
        text: the text of the translation.
        log_prob: the log-probability, in nats.
        params: parameters that reproduce the translation.
        given: whether the user typed this translation.
        read: whether the other pages show this translation.
    """

    tokens: tuple[int, ...]
    text: str
    log_prob: float
    params: DecodingParams
    given: bool = False
    read: bool = False

    def differs_from(self, other: VisitedTranslation) -> int:
        """Return the 0-based index of the first step at which the translations differ. If one translation is a
        prefix of the other, return the length of `self`.
        """
        pairs = zip(self.tokens, other.tokens, strict=False)
        return next((step for step, (own, its) in enumerate(pairs) if own != its), len(self.tokens))


def traced_decoding(reading: Reading) -> tuple[TracedTranslation, DecodingParams]:
    """Return the translation that the user's parameters produce, and the parameters that were used.

    If the parameters are invalid, show a message with the reason, and return the model's own translation.
    """
    model = reading.translator
    params = session.params(DecodingParams).within(model.config.target_vocabulary, model.tokenizer.symbols)
    forced = params.forced
    if params.free and reading.given:
        # Force all tokens of the translation that the user typed.
        forced = tuple(token.id for token in reading.trace.predicted_tokens)
    run = DecodingRun(reading.trace.source_text, params.settings)
    try:
        traced = reading.runs.get(replace(run, prefix=tuple(forced), suppressed=frozenset(params.suppressed)))
    except AtlasError as error:
        st.warning(markdown(str(error)), icon=":material/edit:")
        params = params.for_another_sentence()
        traced = reading.runs.get(run)
    return traced, replace(params, step=min(params.step, len(traced.translation.tokens) - 1))


def visited_translations(
    reading: Reading, traced: TracedTranslation, params: DecodingParams
) -> tuple[VisitedTranslation, ...]:
    """Return up to `MAX_VISITED` translations of the sentence: the model's own, followed by the others that the user
    viewed most recently, oldest first.
    """
    model, own = reading.translator, reading.own
    tokens = tuple(token.id for token in own.predicted_tokens)
    first = VisitedTranslation(
        tokens, own.target_text, float(own.log_probs.sum()), DecodingParams(), read=not reading.given
    )
    sentence = (model.version, model.device, own.source_text)
    before, others = st.session_state.get(VISITED_KEY, (None, ()))
    others = others if before == sentence else ()
    ids = tuple(token.id for token in traced.translation.tokens)
    given = reading.given and params.free
    # Keep the tokens of a typed translation as forced tokens, so that the translation can be shown again after the user
    # types another one.
    again = replace(params, step=0, node=0, forced=ids if given else params.forced)
    visited = VisitedTranslation(ids, traced.translation.text, float(traced.trace.log_probs.sum()), again, given=given)
    if visited.tokens not in (first.tokens, *(other.tokens for other in others)):
        others = (*others, visited)[1 - MAX_VISITED :]
    others = tuple(replace(other, read=reading.given and other.text == reading.trace.target_text) for other in others)
    st.session_state[VISITED_KEY] = (sentence, others)
    return (first, *others)


def forget_visited() -> None:
    st.session_state.pop(VISITED_KEY, None)


@dataclass(frozen=True)
class DecodedText:
    """The tokens and text of a decoded translation, without the values that the model computed."""

    tokens: tuple[int, ...]
    text: str


def decoded_text(traced: TracedTranslation) -> DecodedText:
    return DecodedText(ids_of(traced.translation.tokens), traced.translation.text)


def ids_of(tokens: Sequence[Token]) -> tuple[int, ...]:
    return tuple(token.id for token in tokens)


def use_on_all_pages(
    decoded: DecodedText, own_ids: tuple[int, ...], params: DecodingParams, tokenizer: Vocabulary
) -> None:
    """Make all pages show a decoded translation.

    Args:
        decoded: the decoded translation.
        own_ids: token ids of the model's own translation. If `decoded` has the same tokens, pages show the
            model's own translation.
        params: the parameters that produced `decoded`.
        tokenizer: the tokenizer of the target language.
    """
    is_own = decoded.tokens == own_ids
    # Another translation is stored like one that the user typed. With `search`, this page still shows its decoding.
    session.update(DecodingParams, search=not is_own)
    if is_own:
        session.read_instead("")
    else:
        session.read_instead(decoded.text, origin(decoded, params, tokenizer))


def origin(decoded: DecodedText, params: DecodingParams, tokenizer: Vocabulary) -> str:
    """Return a description in words of how a translation was decoded.

    Other pages receive only the text of the translation, and tokenize it again. If this gives different tokens, the
    description says so.
    """
    again = tuple(tokenizer.encode_ids(decoded.text))
    # Decoded tokens may start with a language code, so compare only the end.
    if again == decoded.tokens[-len(again) :]:
        return params.in_words
    return f"{params.in_words}; tokenizing the translation again gave different tokens"


def decoding_fields(params: DecodingParams) -> dict[str, object]:
    """Return the parameters on which the decoded text depends."""
    return {name: value for name, value in asdict(params).items() if name in DECODING_FIELDS}
