"""Shows how probable texts are according to the language model, token by token and in total."""

import math
from collections.abc import Mapping
from functools import partial

import pandas as pd
import streamlit as st

from attention_atlas.browser.token_labels import token_label
from pages.ui.charts.downloads import save_tables
from pages.ui.charts.tables import show_table
from pages.ui.charts.tokens import token_strip, token_table
from pages.ui.components.save_as import show_altair
from pages.ui.components.text_box import text_box
from pages.ui.layout.roles import main_figure
from pages.ui.params.language_model import LanguageModelParams
from pages.ui.runs.inference import CachedRuns
from pages.ui.state import session
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from pages.ui.text.number_format import typeset
from transformer.checkpoints.checkpoint import LanguageModel
from transformer.errors import AtlasError
from transformer.language_modelling.runs import TextScoreRun
from transformer.language_modelling.scoring import TextScore
from transformer.language_modelling.tracing import max_tokens
from transformer.text.normalisation import replace_surrogates

# The number of each text on the page, by parameter name.
NUMBERS = {"first": 1, "second": 2}
# Maximum number of characters of a text that is quoted in a sentence.
MAX_QUOTED = 60
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def show_likelihood(loaded: LanguageModel) -> None:
    """Show two text boxes and, for each text, the probability of each token and a table row with totals."""
    typed_texts = {name: getattr(session.params(LanguageModelParams), name) for name in NUMBERS}
    scores: dict[int, TextScore] = {}
    for (name, text), place in zip(typed_texts.items(), st.columns(2), strict=True):
        with place:
            _show_text_box(loaded, name, text)
            if text.strip() and (score := _score(loaded, NUMBERS[name], text)):
                scores[NUMBERS[name]] = score
    if not any(map(str.strip, typed_texts.values())):
        st.warning("There is no text: type at least one word into a box.", icon=":material/edit:")
    if not scores:
        return
    labels = {number: [token_label(token, score.text) for token in score.tokens] for number, score in scores.items()}
    lines = verdict(scores)
    st.markdown(" ".join(lines), help=explain("log-probability", "nats", "perplexity"))
    with main_figure(*lines):
        show_altair(
            token_strip([(f"text {number}", labels[number], score.log_probs) for number, score in scores.items()]),
            "lm_scores",
            "The probability of each token in the text, given all tokens before it; the values are listed below.",
            sentence=" · ".join(f"Text {number}: {score.text}" for number, score in scores.items()),
        )
    show_table(score_table(scores), "lm_score_table")
    st.caption(
        "The probability of a text is the product of the probabilities of its tokens, each given the tokens before it. "
        "The end symbol is not counted. Every further token lowers the probability, so texts of different lengths are "
        "compared by their perplexity: the lower it is, the more the model expected the text. Perplexity per word and "
        "bits per byte depend less on how words are split into tokens."
    )
    for number, score in scores.items():
        part = st.expander(f"Token by token: text {number}", key=f"lm_tokens_{number}_part", on_change="rerun")
        if part.open:
            with part:
                tokens = token_table(labels[number], score.log_probs)
                show_table(tokens, f"lm_tokens_{number}")
                facts = {"text": score.text, "model": loaded.version}
                save_tables("text-probability", f"lm_{number}", facts, {"tokens": tokens})


def _show_text_box(loaded: LanguageModel, name: str, text: str) -> None:
    first = name == "first"
    text_box(
        f"lm_{name}",
        text,
        partial(_read, name),
        primary=first,
        request=session.box_request(),
        label=f"Text {NUMBERS[name]}{'' if first else ' to compare'} (up to {max_tokens(loaded)} tokens)",
        placeholder="Type a text …" if first else "Another text (optional) …",
        button="Read",
        help=f"Token: {explain('token')} The start symbol, which the model reads first, is not counted.",
    )


def _read(name: str, typed: str) -> None:
    session.update(LanguageModelParams, **{name: replace_surrogates(typed)})


def _score(loaded: LanguageModel, number: int, text: str) -> TextScore | None:
    """Return the score of a text; if the model cannot read the text, show a message and return None."""
    try:
        return CachedRuns(loaded).get(TextScoreRun(text))[0]
    except AtlasError as error:
        st.warning(f"Text {number}: {markdown(str(error))}", icon=":material/edit:")
        return None


def verdict(scores: Mapping[int, TextScore]) -> tuple[str, str]:
    """Return a verdict and the exact numbers, both as Markdown.

    The verdict says how probable one text is, or which of two texts is more probable.

    Args:
        scores: the scores of one or two texts. The keys are the numbers of the texts on the page.
    """
    if len(scores) == 1:
        (score,) = scores.values()
        return (
            f"This model gives **{_quote(score)}** the probability {power_of_ten(score.log_prob)}.",
            f"That is {typeset(score.log_prob)} nats: a perplexity of {score.perplexity:,.1f} per token.",
        )
    (_, first), (_, second) = scores.items()
    gap = first.log_prob - second.log_prob
    likelier, other = (first, second) if gap > 0 else (second, first)
    times = f"{math.exp(abs(gap)):,.1f}" if abs(gap) < 7 else power_of_ten(abs(gap))
    return (
        "The model finds both texts equally likely."
        if abs(gap) < 0.005
        else f"This model finds **{_quote(likelier)}** {times} times as likely as **{_quote(other)}**"
        + ("" if _quote(other).endswith((".", "!", "?", "…")) else "."),
        _numbers(scores),
    )


def _numbers(scores: Mapping[int, TextScore]) -> str:
    """Return Markdown with the log-probabilities and perplexities of two texts.

    If the texts differ in length, the Markdown also says which text has the lower perplexity per token and per word.
    """
    (number, first), (another, second) = scores.items()
    log_probs = f"The log-probabilities are {typeset(first.log_prob)} and {typeset(second.log_prob)} nats"
    per_token = f"{first.perplexity:,.1f} and {second.perplexity:,.1f} per token"
    if len(first.tokens) == len(second.tokens):
        return f"{log_probs}, and the perplexities are {per_token}."
    per_word = f"{_perplexity_per_word(first)} and {_perplexity_per_word(second)} per word"
    by_tokens, by_words = (
        number if better else another
        for better in (first.perplexity < second.perplexity, _nats_per_word(first) < _nats_per_word(second))
    )
    expected = (
        f"By both measures, the model expects **text {by_tokens}** more"
        if by_tokens == by_words
        else f"By the first measure, the model expects **text {by_tokens}** more; by the second, **text {by_words}**"
    )
    return (
        f"{log_probs}. But text {number} has {_token_count(first)} and text {another} has {_token_count(second)}, and "
        "every further token makes a text less likely. For a fair comparison, use the perplexities: "
        f"{per_token}, and {per_word}. {expected}."
    )


def _token_count(score: TextScore) -> str:
    count = len(score.tokens)
    return f"{count} {'token' if count == 1 else 'tokens'}"


def _quote(score: TextScore) -> str:
    """Return a text as Markdown, truncated to `MAX_QUOTED` characters."""
    text = score.text.strip()
    return markdown(text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED].rstrip()} …")


def score_table(scores: Mapping[int, TextScore]) -> pd.DataFrame:
    """Return a table with one row per text: log-probability, perplexities and other measures."""
    each = scores.values()
    return pd.DataFrame(
        {
            "text": [f"{number}: {score.text}" for number, score in scores.items()],
            "tokens": [len(score.tokens) for score in each],
            "probability": [power_of_ten(score.log_prob) for score in each],
            "log-probability (nats)": [f"{score.log_prob:.4f}" for score in each],
            "perplexity per token": [f"{score.perplexity:,.1f}" for score in each],
            "perplexity per word": [_perplexity_per_word(score) for score in each],
            "bits per byte": [f"{score.bits_per_byte:.3f}" for score in each],
        }
    )


def _nats_per_word(score: TextScore) -> float:
    return -score.log_prob / max(score.words, 1)


def _perplexity_per_word(score: TextScore) -> str:
    """Format the perplexity per word.

    The perplexity may exceed the range of a float, because a whole sentence counts as one word in a script without
    spaces.
    """
    log = _nats_per_word(score)
    return f"{math.exp(log):.1f}" if log < 10 else power_of_ten(log)


def power_of_ten(log: float) -> str:
    """Format a number in scientific notation, given its natural logarithm. The number may be too large for a float."""
    exponent = math.floor(log / math.log(10))
    digits = f"{math.exp(log - exponent * math.log(10)):.1f}"
    if digits == "10.0":
        digits, exponent = "1.0", exponent + 1
    return f"{digits} · 10{str(exponent).translate(SUPERSCRIPT)}"
