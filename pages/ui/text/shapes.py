"""The letters in array shapes, such as [T, D]: what they mean, how large they are, and how indices are labelled."""

from __future__ import annotations

from collections.abc import Mapping

from attention_atlas.browser.token_labels import token_label
from transformer.config import TransformerConfig
from transformer.text.languages import Languages
from transformer.values.trace import Trace


def letter_titles(languages: Languages | None) -> dict[str, str]:
    """Return the meaning of each letter; if `languages` is None, tokens are not assigned to a language."""
    source, target = (languages.source.name, languages.target.name) if languages else ("", "")
    return {
        "S": f"{source} token".lstrip(),
        "T": f"{target} token".lstrip(),
        "D": "dimension of the stream",
        "K": "dimension of the head",
        "F": "hidden dimension",
        "V": "token of the vocabulary",
    }


def sizes(config: TransformerConfig, trace: Trace) -> Mapping[str, int]:
    """Return the size that each letter of a shape stands for."""
    return {
        "B": 1,
        "S": len(trace.source_tokens),
        "T": len(trace.target_tokens),
        "D": config.d_model,
        "K": config.d_head,
        "F": config.d_ff,
        "V": config.target_vocabulary,
    }


def shape_in_letters(letters: str, numbers: Mapping[str, int]) -> str:
    """Format a shape in letters and in numbers, such as "[T, D] = [13, 256]"; a letter may also be a number."""
    sizes_text = (str(numbers.get(letter, letter)) for letter in letters.split(", "))
    return f"[{letters}] = [{', '.join(sizes_text)}]"


def token_labels(trace: Trace, letter: str) -> list[str]:
    """Return labels for the tokens along the dimension that a letter stands for."""
    if letter == "S":
        return [token_label(token, trace.source_text) for token in trace.source_tokens]
    return [token_label(token, trace.target_text) for token in trace.target_tokens]


def split_formula(formula: str) -> str:
    """Put each part of a LaTeX formula with several parts on its own line."""
    lines = formula.replace(r", \quad ", r" \\ ")
    return rf"\begin{{gathered}} {lines} \end{{gathered}}"
