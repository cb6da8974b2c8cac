"""The translations of one sentence that the user has visited, the model's own first."""

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

VISITED = "_visited"
# The maximum number of translations in the list, because more would not fit on a screen; the first one always stays.
MAX_VISITED = 8
DECODED = ("method", "beam_size", "length_penalty", "temperature", "top_k", "top_p", "seed", "forced", "suppressed")


@dataclass(frozen=True)
class Visited:
    """A translation that was decoded.

    Attributes:
        tokens: token ids, including the end symbol.
        text: the text of the tokens.
        log_prob: the log-probability, in nats.
        params: parameters with which the same translation can be decoded again.
        given: whether the user gave this translation for the model to read.
        read: whether the other pages show it.
    """

    tokens: tuple[int, ...]
    text: str
    log_prob: float
    params: DecodingParams
    given: bool = False
    read: bool = False

    def differs_from(self, other: Visited) -> int:
        """Return the first step at which the translations differ; the length of this one if they do not."""
        pairs = zip(self.tokens, other.tokens, strict=False)
        return next((step for step, (own, its) in enumerate(pairs) if own != its), len(self.tokens))


def traced_decoding(reading: Reading) -> tuple[TracedTranslation, DecodingParams]:
    """Return the translation that the user's parameters produce, and the parameters without invalid values.

    If the parameters produce no translation, a message explains why, and the model's own translation is shown.
    """
    model = reading.translator
    params = session.params(DecodingParams).within(model.config.target_vocabulary, model.tokenizer.symbols)
    forced = params.forced
    if params.free and reading.given:
        # Force every token of the translation that the user gave.
        forced = tuple(token.id for token in reading.trace.predicted_tokens)
    asked = DecodingRun(reading.trace.source_text, params.settings)
    try:
        traced = reading.runs.get(replace(asked, prefix=tuple(forced), suppressed=frozenset(params.suppressed)))
    except AtlasError as error:
        st.warning(markdown(str(error)), icon=":material/edit:")
        params = params.for_another_sentence()
        traced = reading.runs.get(asked)
    return traced, replace(params, step=min(params.step, len(traced.translation.tokens) - 1))


def visited_translations(reading: Reading, traced: TracedTranslation, params: DecodingParams) -> tuple[Visited, ...]:
    """Return all translations of this sentence, including this one."""
    model, own = reading.translator, reading.own
    tokens = tuple(token.id for token in own.predicted_tokens)
    first = Visited(tokens, own.target_text, float(own.log_probs.sum()), DecodingParams(), read=not reading.given)
    sentence = (model.version, model.device, own.source_text)
    before, others = st.session_state.get(VISITED, (None, ()))
    others = others if before == sentence else ()
    ids = tuple(token.id for token in traced.translation.tokens)
    given = reading.given and params.free
    # The user may give another translation later, so store the tokens of this one as forced tokens.
    again = replace(params, step=0, node=0, forced=ids if given else params.forced)
    taken = Visited(ids, traced.translation.text, float(traced.trace.log_probs.sum()), again, given=given)
    if taken.tokens not in (first.tokens, *(other.tokens for other in others)):
        others = (*others, taken)[1 - MAX_VISITED :]
    others = tuple(replace(other, read=reading.given and other.text == reading.trace.target_text) for other in others)
    st.session_state[VISITED] = (sentence, others)
    return (first, *others)


def forget_visited() -> None:
    """Remove all visited translations."""
    st.session_state.pop(VISITED, None)


@dataclass(frozen=True)
class Written:
    """The tokens and the text of a decoded translation, without the values computed for it."""

    tokens: tuple[int, ...]
    text: str


def written_by(traced: TracedTranslation) -> Written:
    """Return the decoded translation without the values computed for it."""
    return Written(ids_of(traced.translation.tokens), traced.translation.text)


def ids_of(tokens: Sequence[Token]) -> tuple[int, ...]:
    """Return the ids of tokens."""
    return tuple(token.id for token in tokens)


def use_on_all_pages(written: Written, own: tuple[int, ...], params: DecodingParams, tokenizer: Vocabulary) -> None:
    """Make all pages read a decoded translation; if it equals the model's own, make them read that.

    Args:
        own: ids of the tokens of the model's own translation.
        params: the parameters that produced the translation.
    """
    is_own = written.tokens == own
    # Keep showing the decoding on this page, instead of reading the translation as if the user had given it.
    session.update(DecodingParams, search=not is_own)
    if is_own:
        session.read_instead("")
    else:
        session.read_instead(written.text, origin(written, params, tokenizer))


def origin(written: Written, params: DecodingParams, tokenizer: Vocabulary) -> str:
    """Return how a translation was decoded, in words.

    The other pages receive its text as if it had been typed, and may split it into other tokens.
    """
    again = tuple(tokenizer.encode_ids(written.text))
    # Compare only the end, because a language code may precede the text.
    if again == written.tokens[-len(again) :]:
        return params.in_words
    return f"{params.in_words}; read from its text, which is split into different tokens from those that were written"


def decoded(params: DecodingParams) -> dict[str, object]:
    """Return the parameters that determine the result of decoding."""
    return {name: value for name, value in asdict(params).items() if name in DECODED}
