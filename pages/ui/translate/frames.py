"""Frames of the animation that follows one word: texts, numbers, and links to pages."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

import numpy as np

from attention_atlas.browser.token_labels import entry_label, group_label, isolate, label_without_space, token_label
from pages.ui.params.pages import PAGES
from pages.ui.text.number_format import typeset
from transformer.analysis.heads.metrics import HeadMetrics
from transformer.analysis.sentence_film import Line, sentence_film
from transformer.analysis.word_links import source_words
from transformer.text.languages import Languages
from transformer.text.vocabulary import TextVocabulary
from transformer.values.trace import Kind, Trace
from transformer.values.weights import Weights

# How many vector components, sentence tokens and vocabulary tokens fit into a frame.
DIMENSIONS, TOKENS, CANDIDATES = 6, 14, 6
# In the rows named in SHARES, values closer to 0 than this are shown as "≈ 0".
MIN_SHOWN = 0.005
SHARES = ("weights", "similarity", "probabilities")
ORDER_TEXT = " A vector for its position is added, because word order matters."
HEAD_ADDRESS = "layer={layer}&head={head}&words=false&hide=false"
INSIDE_ADDRESS = "inside_part=stages&inside_stage=encoder."
# Title, text, linked page and URL parameters of each frame, with placeholders that `film_frames` fills in.
FRAMES = {
    "words": (
        "A sentence",
        "The model translates this sentence into {target}. We follow one word: {it}.",
        "lessons",
        "lesson_id=why_attention",
    ),
    "tokens": (
        "Words become tokens",
        "A token is a word or a part of one. The model knows each token by its ID.",
        "inside_a_layer",
        INSIDE_ADDRESS + "pieces",
    ),
    "vector": (
        "A token becomes a vector",
        "{it} is now {width} learned numbers.{order}",
        "inside_a_layer",
        INSIDE_ADDRESS + "input",
    ),
    "scores": (
        "Queries meet keys",
        "A head is one of {heads} attention calculations that run side by side in a layer. In encoder layer {layer}, "
        "head {head}, the query of {it} meets the key of each token. Query and key are multiplied number by number. "
        "The scaled sum of the products gives the score.",
        "inside_a_layer",
        INSIDE_ADDRESS + "self_attention.scores&" + HEAD_ADDRESS,
    ),
    "weights": (
        "A row of weights",
        "Softmax turns the scores into weights that sum to 1. The largest, {most}, is on {where}.",
        "encoder_attention",
        HEAD_ADDRESS + "&encoder_rows={row}&encoder_columns=",
    ),
    "values": (
        "Values are mixed",
        "Each token also has a value. The values, multiplied by their weights, add up to this head's output for {it}.",
        "inside_a_layer",
        INSIDE_ADDRESS + "self_attention.head&" + HEAD_ADDRESS,
    ),
    "layers": (
        "Layer upon layer",
        "{heads} heads and a feed-forward network make up a layer. {layers} layers follow one "
        "another, and each adds to the vector of {it}.",
        "compare_heads",
        "compare_part=layers&compare_kind=encoder&compare_row={position}&words=false",
    ),
    "mask": (
        "The mask",
        "The decoder writes {target}, token by token. Before it writes {es}, it looks back. The mask "
        "hides what comes later: {hidden} of {count} tokens. In training, the model reads the whole {target} sentence "
        "at once; without the mask, it could copy the next word instead of predicting it.",
        "masked_attention",
        HEAD_ADDRESS + "&decoder_rows={step}&decoder_columns=",
    ),
    "cross": (
        "Cross-attention",
        "In cross-attention layer {layer}, head {head}, the decoder looks at {source}. The "
        "largest weight, {most}, is on {where}.",
        "cross_attention",
        HEAD_ADDRESS + "&cross_rows={step}&cross_columns=",
    ),
    "next": (
        "Which token comes next?",
        "All {size:,} tokens of the vocabulary get a probability. {es} gets {likely}.",
        "decoding",
        "step={now}",
    ),
    "again": (
        "And once more",
        "The decoder reads {es} in the next step, and so on until the end symbol: {count} steps in all. Each number "
        "is the probability of the token written at that step.",
        "decoding",
        "step={later}",
    ),
}
# Labels of the rows of numbers in a frame.
LINES = {
    "tokens": "Tokens of each word",
    "ids": "ID in the vocabulary",
    "position": "+ vector of position {position}",
    "embedding": "Vector of {token}: {shown} of its {size} numbers",
    "input": "= input of the first layer{normalised}",
    "query": "Query of {token}: {shown} of its {size} numbers",
    "key": "Key of {token}",
    "scores": "Score of each token",
    "weights": "Weight of each token",
    "value": "Value of {token}, whose weight is {share}",
    "output": "All values times their weights, added up: the head's output for {token}",
    "similarity": "Similarity of the vector after each layer to the first vector (1: same direction)",
    "probabilities": "Probability",
}


def film_frames(
    trace: Trace,
    weights: Weights,
    metrics: Mapping[Kind, HeadMetrics],
    word: int,
    languages: Languages,
    vocabulary: TextVocabulary,
) -> list[dict[str, Any]]:
    """Return the frames in the format described in assets/sentence_film/sentence_film.js.

    Args:
        trace, weights, metrics, word: as in `sentence_film`.
        languages: the model's languages.
        vocabulary: the target vocabulary.
    """
    film = {frame.name: frame for frame in sentence_film(trace, weights, metrics, word)}
    words = source_words(trace)
    labels = {
        "source": [token_label(token, trace.source_text) for token in trace.source_tokens],
        "target": [token_label(token, trace.target_text) for token in trace.target_tokens],
        "predicted": [token_label(token, trace.target_text) for token in trace.predicted_tokens],
        "words": [group_label(tokens, trace.source_text, words=True) for tokens in words.tokens],
    }
    row, step, count = film["tokens"].row, film["next"].row, len(trace.predicted_tokens)
    looks = np.maximum(film["weights"].lines[-1].numbers, film["cross"].lines[0].numbers)
    kept = {
        "source": _largest(looks, row),
        # Also keep one token that the mask hides.
        "target": _largest(film["mask"].lines[0].numbers, step, min(step + 1, count - 1)),
        "predicted": _largest(-np.abs(np.arange(count) - step), step),
    }
    kept["words"] = {index for index, rows in enumerate(words.rows) if not kept["source"].isdisjoint(rows)}

    def quoted(side: str, at: int) -> str:
        return f"“{isolate(label_without_space(labels[side][at]))}”"

    followed = {"words": word, "source": row, "target": step, "predicted": step}

    def line(shown: Line, largest: float) -> dict[str, Any]:
        of, numbers = shown.of, shown.numbers
        room = {"dimensions": DIMENSIONS, "vocabulary": CANDIDATES}.get(of, len(numbers))
        cells = [cell(shown, at, largest) for at in sorted(kept.get(of, range(min(room, len(numbers)))))]
        name = LINES[shown.name].format(
            token=quoted("source", shown.token),
            position=shown.token + 1,
            shown=len(cells),
            size=len(numbers),
            share=typeset(float(film["weights"].lines[-1].numbers[shown.token])),
            normalised=", after a layer normalisation" * weights.config.embedding_norm,
        )
        if of in kept and len(cells) < len(numbers):
            name += f" ({len(cells)} of {len(numbers)})"
        return {"name": name, "palette": "difference" if of == "dimensions" else "viridis", "cells": cells}

    def cell(shown: Line, at: int, largest: float) -> dict[str, Any]:
        of, value = shown.of, float(shown.numbers[at])
        if of == "dimensions":
            key = f"{shown.name}-{shown.token}-{at}"
            return {"key": key, "label": "", "number": typeset(value), "tint": (value / largest + 1) / 2}
        if of == "layers":
            label = f"layer {at}" if at else "first"
        else:
            label = labels[of][at] if shown.at is None else entry_label(vocabulary, int(shown.at[at]))
            label = label if shown.name == "ids" else label_without_space(label)
        # A word uses its first token's key, so that the token's animation starts at the word's position.
        found = {"key": f"source-{words.rows[at][0]}" if of == "words" else f"{of}-{at}", "label": label}
        if shown.allowed is not None and not shown.allowed[at]:
            return {**found, "number": "masked", "mark": "masked"}
        if shown.name in SHARES:
            found |= {"tint": value}
        rough = "≈ 0" if shown.name in SHARES and abs(value) < MIN_SHOWN else typeset(value)
        found["number"] = str(int(value)) if shown.name in ("tokens", "ids") else rough
        return {**found, "mark": "chosen"} if at == followed.get(of) else found

    values = {
        "it": quoted("words", word) if word >= 0 else quoted("source", row),
        "es": quoted("predicted", step),
        "source": languages.source.name,
        "target": languages.target.name,
        "size": vocabulary.size,
        "count": count,
        "width": weights.config.d_model,
        "layers": len(trace.encoder),
        "heads": trace.encoder.shape[1],
        "hidden": int((~trace.decoder_mask[step]).sum()),
        "likely": typeset(float(np.exp(trace.log_probs[step]))),
        "order": ORDER_TEXT * any(each.name == "position" for each in film["vector"].lines),
        "row": row,
        "position": row + 1,
        "step": step,
        "now": step + 1,
        "later": min(step + 2, count),
    }
    frames = []
    for name, (title, text, page, address) in FRAMES.items():
        last = film[name].lines[-1]
        own = {"layer": film[name].layer + 1, "head": film[name].head + 1}
        if last.of == "source":
            own |= {"most": typeset(float(last.numbers.max())), "where": quoted("source", int(last.numbers.argmax()))}
        # All vectors of a frame share one colour scale.
        largest = max(
            (np.abs(each.numbers[:DIMENSIONS]).max() for each in film[name].lines if each.of == "dimensions"), default=0
        )
        changed = dict(parse_qsl(address.format(**values, **own), keep_blank_values=True))
        frames.append(
            {
                "title": title,
                "says": text.format(**values, **own),
                "lines": [line(each, float(largest) or 1.0) for each in film[name].lines],
                "link": (f"More: {PAGES[page].title}", page, changed),
            }
        )
    return frames


def _largest(numbers: np.ndarray, *also: int) -> set[int]:
    """Return up to TOKENS positions to show in a frame: those in `also`, and those with the largest numbers."""
    return set(list(dict.fromkeys([*also, *np.argsort(-numbers, kind="stable").tolist()]))[:TOKENS])
