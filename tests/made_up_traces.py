"""Traces with given attention weights, made without a model."""

import numpy as np

from transformer.text.tokenizer import END, START
from transformer.values.interventions import AS_TRAINED
from transformer.values.tokens import Token
from transformer.values.trace import KINDS, Trace

FIRST = 10


def made_up_trace(source, target, **maps):
    """Return a trace with the given attention maps, and with uniform attention for the attention kinds not given.

    Args:
        source: words of the source, without the end symbol; a bar separates the tokens of a word. Token ids count up
            from FIRST.
        target: words of the target, without the start symbol.
        maps: weights by attention kind, [rows, columns] for a single head, or [L, H, rows, columns].
    """
    source_tokens = (*_words(source), Token(END, "</s>", None, "end"))
    words = _words(target)
    target_tokens = (Token(START, "<s>", None, "start"), *words)
    rows, columns = len(target_tokens), len(source_tokens)
    masks = {
        "encoder": np.ones((columns, columns), bool),
        "decoder": np.tri(rows, dtype=bool),
        "cross": np.ones((rows, columns), bool),
    }
    weights = {}
    for kind in KINDS:
        even = masks[kind] / masks[kind].sum(axis=1, keepdims=True)
        given = np.asarray(maps.get(kind, even), dtype=np.float32)
        weights[kind] = given if given.ndim == 4 else given[None, None]
    return Trace(
        source_text=_text(source),
        target_text=_text(target),
        source_tokens=source_tokens,
        target_tokens=target_tokens,
        predicted_tokens=(*words, Token(END, "</s>", None, "end")),
        complete=True,
        **weights,
        **{f"{kind}_mask": mask for kind, mask in masks.items()},
        log_probs=np.zeros(rows, np.float32),
        entropy=np.zeros(rows, np.float32),
        candidate_ids=np.zeros((rows, 1), np.int64),
        candidate_log_probs=np.zeros((rows, 1), np.float32),
        details={},
        interventions=AS_TRAINED,
    )


def _text(words):
    return " ".join(words).replace("|", "")


def _words(texts):
    tokens, at = [], 0
    for text in texts:
        for number, part in enumerate(text.split("|")):
            tokens.append(Token(FIRST + len(tokens), part if number else f"▁{part}", (at, at + len(part))))
            at += len(part)
        at += 1
    return tuple(tokens)
