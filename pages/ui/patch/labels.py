"""Pure functions that label the Patch page's sites, sentences, tokens and grid cells."""

import numpy as np

from attention_atlas.browser.token_labels import label_without_space, token_label
from pages.ui.patch.question import PatchingPair
from pages.ui.text.markup import markdown
from transformer.values.patches import PatchSite, kind_of, stack_of
from transformer.values.trace import Trace

KINDS = {"encoder": "encoder", "decoder": "decoder", "cross": "cross-attention"}
NAMES = {
    "outputs": "heads' outputs",
    "weights": "rows of attention",
    "residual": "residual stream",
    "feed_forward": "feed-forward outputs",
}


def site_name(site: PatchSite) -> str:
    """Return a site's name for display."""
    where = KINDS[kind_of(site)].capitalize()
    return f"{where}: {NAMES[site.partition('.')[2]]}"


def both_sentences(text: str, other: str) -> str:
    """Return both sentences as one line of Markdown, with the words that differ written as "A / B"."""
    words, others = text.split(), other.split()
    shorter = min(len(words), len(others))
    start = next((index for index in range(shorter) if words[index] != others[index]), shorter)
    end = next((index for index in range(shorter - start) if words[-1 - index] != others[-1 - index]), shorter - start)
    changed = [markdown(" ".join(each[start : len(each) - end]) or "—") for each in (words, others)]
    middle = [] if words == others else [f"**{changed[0]} / {changed[1]}**"]
    return " ".join([*map(markdown, words[:start]), *middle, *map(markdown, words[len(words) - end :])])


def cell_labels(values: np.ndarray) -> np.ndarray:
    """Return the text for each cell: the effect with two decimal places, or "" if its magnitude is below 0.05."""
    return np.array(
        [
            [f"{value:.2f}".replace("-", "−") if abs(value) >= 0.05 else "" for value in row]
            for row in np.nan_to_num(values)
        ],
        dtype=object,
    )


def token_labels(pair: PatchingPair, site: PatchSite, columns: dict[int, int]) -> list[str]:
    """Return labels for a site's tokens; a source token that differs in B gets both texts, as in "tired / wide"."""
    if stack_of(site) == "decoder":
        return [token_label(token, pair.a.target_text) for token in pair.a.target_tokens]
    texts, other_texts = source_labels(pair.a), source_labels(pair.b)
    return [
        name
        if index not in columns or other_texts[columns[index]] == name
        else f"{name} / {label_without_space(other_texts[columns[index]])}"
        for index, name in enumerate(texts)
    ]


def source_labels(trace: Trace) -> list[str]:
    """Return labels for a trace's source tokens."""
    return [token_label(token, trace.source_text) for token in trace.source_tokens]
