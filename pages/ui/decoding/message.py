"""A road as bytes for the browser: every step with its candidates, and where every head looked at each."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pages.ui.decoding.course import Course
from pages.ui.decoding.roads import Kept, decoded
from pages.ui.payload import codes, decimals, packed
from pages.ui.plain import entry_label, piece_label
from transformer.road import Fate, Road, SearchTree
from transformer.tokenizer import Tokenizer

HOW = {"greedy": "greedy", "beam": "beam {size}", "sample": "sample, seed {seed}"}


def message(
    road: Road, kept: Sequence[Kept], course: Course, tokenizer: Tokenizer, asked: Mapping[str, Any],
    head: tuple[int, int],
) -> bytes:
    """A little-endian length, a JSON header of that many bytes, and the compressed codes of all weights.

    The codes are those of the decoder [L * H + 1, T, T] and of the source [L * H + 1, T, S]; the last plane of each is
    the mean of all heads.

    Args:
        road: that is shown.
        kept: all roads.
        course: that led here.
        tokenizer: names the pieces.
        asked: what the browser should show, and the number of the request.
        head: layer and head whose rows a node of the tree shows.
    """
    trace = road.trace
    layers, heads = trace.cross.shape[:2]
    identity = repr((trace.source_text, road.found.pieces, decoded(course))).encode("utf-8", "surrogatepass")
    header = {
        "id": f"{zlib.crc32(identity):08x}",
        "asked": asked, "course": decoded(course), "layers": layers, "heads": heads,
        "source": [piece_label(piece, trace.source_text) for piece in trace.source_pieces],
        "read": [piece_label(piece, trace.target_text) for piece in trace.target_pieces],
        "never": [(piece, entry_label(tokenizer, piece)) for piece in course.never],
        "steps": [_step(road, step, tokenizer) for step in range(len(road.found.pieces))],
        "roads": [_kept(other, kept[0], road, course, tokenizer) for other in kept],
        "tree": road.found.tree and _tree(road, course, tokenizer, head),
    }
    numbers = [
        codes(np.concatenate([weights.reshape(-1, *mask.shape), weights.mean((0, 1))[None]]), mask).ravel()
        for weights, mask in ((trace.decoder, trace.decoder_mask), (trace.cross, trace.cross_mask))
    ]
    return packed(json.dumps(header, allow_nan=False).encode("ascii"), np.concatenate(numbers))


def _candidates(ids: np.ndarray, log_probs: np.ndarray, tokenizer: Tokenizer) -> list[tuple[int, str, float]]:
    return [
        (piece, entry_label(tokenizer, piece), round(log_prob, 6))
        for piece, log_prob in zip(ids.tolist(), log_probs.tolist(), strict=True)
    ]


def _step(road: Road, step: int, tokenizer: Tokenizer) -> dict[str, Any]:
    trace, lens = road.trace, road.layers
    piece = trace.predicted_pieces[step]
    return {
        "id": piece.id, "out": piece_label(piece, trace.target_text), "logProb": round(float(trace.log_probs[step]), 6),
        "rank": int(road.ranks[step]), "entropy": round(float(trace.entropy[step]), 6),
        "forced": step < len(road.found.forced),
        "candidates": _candidates(trace.candidate_ids[step], trace.candidate_log_probs[step], tokenizer),
        "layers": [
            {"said": _candidates(ids[step], log_probs[step], tokenizer), "taken": round(float(taken[step]), 6)}
            for ids, log_probs, taken in zip(lens.candidate_ids, lens.candidate_log_probs, lens.taken, strict=True)
        ],
    }


def _kept(other: Kept, first: Kept, road: Road, course: Course, tokenizer: Tokenizer) -> dict[str, Any]:
    parts = other.parts_from(first)
    common = tokenizer.decode(other.pieces[:parts])
    # A character of several bytes may be cut by the parting of the roads; then all of the text is its own.
    common = common if other.text.startswith(common) else ""
    current = other.pieces == tuple(piece.id for piece in road.found.pieces)
    # Several ways of choosing may lead along one road; of the one that is shown, the reader's counts.
    led = course if current else other.course
    return {
        "common": common, "own": other.text[len(common) :], "count": len(other.pieces),
        "logProb": round(other.log_prob, 6),
        "how": "given" if other.given and led.free else HOW[led.method].format(**decoded(led)),
        "parts": None if other is first else min(parts, len(other.pieces) - 1), "course": decoded(other.course),
        "current": current,
    }


def shown_nodes(tree: SearchTree, size: int) -> list[int]:
    """Indices of the nodes that a picture has room for: all that survived, and the best few of the pruned of a step.

    Args:
        tree: of a beam search.
        size: of the beam; as many pruned ones are shown of each step.
    """
    shown = []
    pruned: dict[int, int] = {}
    for index, node in enumerate(tree.nodes):
        if node.fate == Fate.PRUNED:
            pruned[node.step] = pruned.get(node.step, 0) + 1
            if pruned[node.step] > size:
                continue
        shown.append(index)
    return shown


def _tree(road: Road, course: Course, tokenizer: Tokenizer, head: tuple[int, int]) -> dict[str, Any]:
    tree = road.found.tree
    shown = shown_nodes(tree, course.size)
    place = {index: number for number, index in enumerate(shown)}
    nodes = [tree.nodes[index] for index in shown]
    rows = None
    if 0 < course.node <= len(nodes):
        decoder, cross = (
            rows[head] if course.show == "head" else rows.mean((0, 1)) for rows in tree.rows(shown[course.node - 1])
        )
        whose = f"layer {head[0] + 1}, head {head[1] + 1}" if course.show == "head" else "mean of all heads"
        rows = {
            "node": course.node, "whose": whose, "decoder": decimals(decoder).tolist(),
            "cross": decimals(cross).tolist(),
        }
    return {
        "best": [place[index] for index in tree.best], "cutoffs": [round(cutoff, 6) for cutoff in tree.cutoffs],
        "rows": rows, "left": len(tree.nodes) - len(nodes),
        "nodes": [
            {
                "parent": None if node.parent is None else place[node.parent], "step": node.step, "id": node.piece,
                "rank": node.rank, "label": entry_label(tokenizer, node.piece), "logProb": round(node.log_prob, 6),
                "score": round(node.score, 6), "penalised": round(node.penalised, 6), "fate": node.fate.name.lower(),
            }
            for node in nodes
        ],
    }
