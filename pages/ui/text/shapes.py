"""The letters in array shapes such as [T, D]: their meanings, the sizes they stand for, and token labels."""

from collections.abc import Mapping, Sequence

from attention_atlas.browser.token_labels import token_label
from transformer.config import TransformerConfig
from transformer.text.languages import Languages
from transformer.values.trace import Part, Trace

# Short names of the sub-layers.
SHORT: dict[Part, str] = {"self_attention": "self", "cross_attention": "cross", "feed_forward": "FFN"}


def letter_titles(languages: Languages | None) -> dict[str, str]:
    """Return a title for each letter of a shape, such as "English token"; without `languages`, just "token"."""
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
    """Return the size that each letter in a shape stands for."""
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
    """Format a shape in letters and in numbers, such as "[T, D] = [13, 256]"; `letters` may also contain numbers."""
    sizes_text = (str(numbers.get(letter, letter)) for letter in letters.split(", "))
    return f"[{letters}] = [{', '.join(sizes_text)}]"


def token_labels(trace: Trace, letter: str) -> list[str]:
    """Return the labels of the source tokens (letter S) or of the target tokens (any other letter)."""
    if letter == "S":
        return [token_label(token, trace.source_text) for token in trace.source_tokens]
    return [token_label(token, trace.target_text) for token in trace.target_tokens]


def stream_points(parts: Sequence[Part], count: int) -> list[str]:
    """Return names for `count` points of a residual stream: the embeddings, then each layer's sub-layers."""
    names = (f"{number // len(parts) + 1} {SHORT[parts[number % len(parts)]]}" for number in range(count - 1))
    return ["embeddings", *names]


def split_formula(formula: str) -> str:
    """Break a LaTeX formula into lines at each `, \\quad `."""
    lines = formula.replace(r", \quad ", r" \\ ")
    return rf"\begin{{gathered}} {lines} \end{{gathered}}"
