"""Traces with attention made up for a test."""

from __future__ import annotations

import numpy as np
import pytest

from transformer.text.tokenizer import END, START, Piece
from transformer.values.interventions import AS_TRAINED
from transformer.values.trace import KINDS, Trace

FIRST = 10


def _made_up_trace(source, target, **maps):
    """A trace of one layer and one head, or as many as the maps given have; the other kinds look evenly.

    Args:
        source: texts of the source pieces, the end symbol not among them; their ids count up from FIRST.
        target: texts of the target pieces, the start symbol not among them.
        maps: by kind, [rows, columns] or [L, H, rows, columns].
    """
    source_pieces = (*_words(source), Piece(END, "</s>", None, "end"))
    words = _words(target)
    target_pieces = (Piece(START, "<s>", None, "start"), *words)
    rows, columns = len(target_pieces), len(source_pieces)
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
        source_text=" ".join(source),
        target_text=" ".join(target),
        source_pieces=source_pieces,
        target_pieces=target_pieces,
        predicted_pieces=(*words, Piece(END, "</s>", None, "end")),
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


def _words(texts):
    pieces, at = [], 0
    for number, text in enumerate(texts):
        pieces.append(Piece(FIRST + number, f"▁{text}", (at, at + len(text))))
        at += len(text) + 1
    return tuple(pieces)


@pytest.fixture(scope="session")
def made_up_trace():
    """A function that makes traces; see `_made_up_trace`."""
    return _made_up_trace
