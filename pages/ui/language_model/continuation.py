"""Shows how the language model continues a text: the new tokens with their probabilities, and the maps of all heads."""

import numpy as np
import streamlit as st

from attention_atlas.browser.token_labels import token_label
from pages.ui.charts import matrix
from pages.ui.charts.downloads import save_trace
from pages.ui.charts.tables import draw_table, show_numbers
from pages.ui.charts.tokens import token_strip, token_table
from pages.ui.components.attention_browser import attention_browser
from pages.ui.components.html_export import send_export_parts
from pages.ui.components.save_as import show_altair
from pages.ui.heads.prose import prose
from pages.ui.language_model.copying_heads import copying_names, describe_copying
from pages.ui.language_model.reading import MAPS, LanguageReading, read_beginning
from pages.ui.layout.roles import main_figure
from pages.ui.params.attention import AttentionParams
from pages.ui.params.language_model import TextHeadParams
from pages.ui.state import session
from pages.ui.text.captions import describe_axes, describe_clearest_head, describe_head, describe_most_focused_head
from pages.ui.text.glossary import explain
from pages.ui.text.markup import WORD_JOINER, markdown
from pages.ui.text.number_format import typeset
from pages.ui.text.python_lines import FROM_ZERO, continuation_lines
from transformer.analysis.view import View, view_of
from transformer.checkpoints.checkpoint import LanguageModel
from transformer.files.paths import LANGUAGE_MODEL
from transformer.text.languages import LANGUAGES, Languages

# Language pair for captions that name a source and a target language; the language model knows only English.
ENGLISH = Languages(LANGUAGES.source, LANGUAGES.source)


def show_continuation(loaded: LanguageModel) -> None:
    """Show a text with its continuation, one head's attention map, and the probability of each new token."""
    with st.container(gap="xsmall"):
        reading = read_beginning(loaded)
        show_text(reading)
        metrics = reading.metrics()
        with main_figure():
            choice = attention_browser(reading.trace, metrics, TextHeadParams, copying_names(loaded))
        show_likelihood(reading)
        show_probabilities(reading)
    trace = reading.trace
    view = view_of(trace, "decoder", words=choice.words, special=not choice.hide)
    prose(
        "lm_telling",
        describe_clearest_head(trace, metrics, is_chosen=session.attention(of=TextHeadParams).chosen),
        MAPS,
    )
    at = choice.layer, choice.head
    st.markdown(
        f"{describe_copying(loaded, trace, *at)} {describe_head(view, metrics, *at)}".strip(),
        help=explain("entropy", "nats", "attention sink", "induction head"),
    )
    prose("lm_sharpest", describe_most_focused_head(metrics), MAPS)
    st.caption(
        describe_axes(view, ENGLISH)
        + " A token's row belongs to the step that predicts the next token. For the attention that led to a word, "
        "look at the row before the word. For the alternatives, see “Step by step”.",
        help=explain("head", "query", "key", "attention weight"),
    )
    show_numbers(token_table(*_new_tokens(reading)), "lm_written_numbers", label="The probabilities of the tokens")
    part = st.expander(
        f"The numbers for layer {choice.layer + 1}, head {choice.head + 1}", key="lm_numbers", on_change="rerun"
    )
    if part.open:
        with part:
            _show_head(reading, view, choice)
    send_export_parts(trace, "decoder", reading.metrics)


def _show_head(reading: LanguageReading, view: View, choice: AttentionParams) -> None:
    loaded, trace = reading.loaded, reading.trace
    draw_table(
        matrix.cells(view, choice.layer, choice.head),
        "lm_weights",
        height=320,
        file=f"decoder-layer{choice.layer + 1}-head{choice.head + 1}-weights",
    )
    st.markdown("**Python code that computes these weights** in full precision")
    folder = None if loaded.folder == LANGUAGE_MODEL else loaded.folder
    lines = continuation_lines(trace, folder, choice.layer, choice.head)
    st.code(lines, language="python", wrap_lines=True)
    st.caption(FROM_ZERO + " The code prints the weights of tokens, even if “Words” merges tokens on the page.")
    save_trace(lambda: reading.trace, "lm")


def show_written(reading: LanguageReading) -> None:
    """Show a text, its continuation, and the log-probability of the continuation."""
    show_text(reading)
    show_likelihood(reading)


def show_text(reading: LanguageReading) -> None:
    """Show the text that the user typed, followed by the continuation in bold type."""
    continuation = reading.traced.translation
    text = continuation.text
    spans = [token.span for token in continuation.tokens if token.span is not None]
    at = spans[0][0] if spans else len(text)
    beginning, written = markdown(text[:at]), markdown(text[at:])
    if not written:
        nothing = "nothing but white space" if spans else "nothing: the end symbol came first"
        beginning, written = f"{beginning} ", f"*({nothing})*"
    elif any(map(str.isspace, text[max(at - 1, 0) : at + 1])):
        beginning, written = f"{beginning} ", f"**{written}**"
    else:
        # Markdown does not start bold type between a word and punctuation, so insert a word joiner.
        written = f"**{WORD_JOINER}{written}**"
    with st.container(key="written"):
        st.markdown((beginning + written).strip())


def show_likelihood(reading: LanguageReading) -> None:
    """Show the decoding method, the log-probability of the continuation, and why generation stopped."""
    continuation = reading.traced.translation
    count, total = len(continuation.tokens), continuation.log_prob
    limit, length = reading.loaded.model.config.position_limit, len(continuation.beginning) + count
    if continuation.complete:
        reason = "the model ended the text"
    elif limit is not None and length >= limit:
        reason = f"the model has only {limit} positions and has used them all"
    else:
        reason = "the maximum number of new tokens is reached"
    how = reading.params.in_words
    st.caption(
        f"{how[:1].upper()}{how[1:]}: {count} {'token' if count == 1 else 'tokens'} written, log-probability "
        f"{typeset(total)} nats, {typeset(total / count)} per token; {reason}.",
        help=explain("log-probability", "nats"),
    )


def show_probabilities(reading: LanguageReading) -> None:
    trace = reading.trace
    show_altair(
        token_strip([("probability", *_new_tokens(reading))]),
        "lm_written",
        "The probability of each new token, given all tokens before it; the table at the end of the page lists the "
        "values.",
        sentence=f"Text: {trace.target_text}",
    )


def _new_tokens(reading: LanguageReading) -> tuple[list[str], np.ndarray]:
    """Return the labels of the new tokens, and their log-probabilities in nats."""
    trace, count = reading.trace, len(reading.traced.ranks)
    labels = [token_label(token, trace.target_text) for token in trace.predicted_tokens[-count:]]
    return labels, trace.log_probs[-count:].astype(np.float64)
