"""Encodes a decoded text for the browser: the steps with their candidates, and the attention of every head."""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attention_atlas.browser.token_labels import displayable, entry_label, token_label
from attention_atlas.browser.wire import codes, pack
from pages.ui.decoding.visited_translations import VisitedTranslation, decoding_fields
from pages.ui.params.decoding import DecodingParams
from pages.ui.text.number_format import rounded
from transformer.text.languages import Languages
from transformer.text.normalisation import normalise
from transformer.text.vocabulary import TextVocabulary
from transformer.values.translation import HypothesisState, SearchTree, TracedTranslation

# Short descriptions of the decoding methods.
METHOD_NAMES = {"greedy": "greedy", "beam": "beam {beam_size}", "sample": "sample, seed {seed}"}


def decoding_payload(
    traced: TracedTranslation,
    visited: Sequence[VisitedTranslation],
    params: DecodingParams,
    tokenizer: TextVocabulary,
    request: Mapping[str, Any],
    head: tuple[int, int],
    languages: Languages,
) -> bytes:
    """Return a message in the format of `attention_atlas.browser.wire`, with all steps and all attention weights.

    Attention weights are sent as codes: [L * H + 1, T, B + T] for the decoder and [L * H + 1, T, S] for
    cross-attention. T is the number of decoding steps. B is the number of trace rows before the first step. These rows
    predict a language model's prompt; B is 0 for translators. The last plane is the mean of all heads.

    Args:
        traced: the decoded text.
        visited: the decoded texts that the user has viewed, the model's own text first.
        params: the parameters that produced `traced`.
        tokenizer: provides the token labels.
        request: the state that the browser should show, and the number of the request.
        head: the layer and head whose attention is shown at a node of the beam-search tree.
        languages: the model's source and target languages.
    """
    trace = traced.trace
    layers, heads = trace.decoder.shape[:2]
    before = first_row(traced)
    texts = trace.source_text, trace.target_text
    identity = repr((texts, traced.translation.tokens, decoding_fields(params))).encode("utf-8", "surrogatepass")
    header = {
        "id": f"{zlib.crc32(identity):08x}",
        "asked": request,
        "params": decoding_fields(params),
        "layers": layers,
        "heads": heads,
        "before": before,
        "noun": "translation" if trace.source_tokens else "continuation",
        "source": [token_label(token, trace.source_text) for token in trace.source_tokens],
        "read": [token_label(token, trace.target_text) for token in trace.target_tokens],
        "languages": {
            side: {"name": each.name, "direction": each.direction}
            for side, each in zip(languages._fields, languages, strict=True)
        },
        "suppressed": [(token, entry_label(tokenizer, token)) for token in params.suppressed],
        "forced": _forced(traced, params),
        "readable": bool(trace.source_tokens and normalise(traced.translation.text)),
        "steps": [_step(traced, step, tokenizer) for step in range(len(traced.translation.tokens))],
        "translations": [_visited(other, visited[0], traced, params, tokenizer) for other in visited],
        "tree": traced.translation.tree and _tree(traced.translation.tree, params, tokenizer, head),
    }
    numbers = [
        _planes(weights[:, :, before:], mask[before:])
        for weights, mask in ((trace.decoder, trace.decoder_mask), (trace.cross, trace.cross_mask))
    ]
    return pack(header, np.concatenate(numbers))


def _planes(weights: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return attention weights [L, H, T, C], encoded by `codes`, followed by their mean over all layers and heads."""
    every = weights.reshape(weights.shape[0] * weights.shape[1], *mask.shape)
    return codes(np.concatenate([every, weights.mean((0, 1))[None]]), mask).ravel()


def first_row(traced: TracedTranslation) -> int:
    """Return the first trace row that predicts a new token; earlier rows predict the text given to a language model."""
    return len(traced.trace.predicted_tokens) - len(traced.translation.tokens)


def _candidates(ids: np.ndarray, log_probs: np.ndarray, tokenizer: TextVocabulary) -> list[tuple[int, str, float]]:
    return [
        (token, entry_label(tokenizer, token), round(log_prob, 6))
        for token, log_prob in zip(ids.tolist(), log_probs.tolist(), strict=True)
    ]


def _step(traced: TracedTranslation, step: int, tokenizer: TextVocabulary) -> dict[str, Any]:
    trace, lens = traced.trace, traced.logit_lens
    row = first_row(traced) + step
    token = trace.predicted_tokens[row]
    return {
        "id": token.id,
        "out": token_label(token, trace.target_text),
        "logProb": round(float(trace.log_probs[row]), 6),
        "rank": int(traced.ranks[step]),
        "entropy": round(float(trace.entropy[row]), 6),
        "forced": step < len(traced.translation.prefix),
        "candidates": _candidates(trace.candidate_ids[row], trace.candidate_log_probs[row], tokenizer),
        "layers": [
            {
                "candidates": _candidates(ids[step], log_probs[step], tokenizer),
                "logProb": round(float(chosen_id[step]), 6),
            }
            for ids, log_probs, chosen_id in zip(lens.candidate_ids, lens.candidate_log_probs, lens.taken, strict=True)
        ],
    }


def _forced(traced: TracedTranslation, params: DecodingParams) -> dict[str, Any] | None:
    forced = traced.translation.prefix
    if not forced:
        return None
    # Do not decode the forced tokens alone, because a later token may complete the last character.
    spans = [token.span for token in traced.translation.tokens[: len(forced)] if token.span]
    text = traced.translation.text[spans[0][0] : spans[-1][1]] if spans else ""
    return {"text": displayable(text), "count": len(forced), "given": not params.forced}


def _visited(
    other: VisitedTranslation,
    first: VisitedTranslation,
    traced: TracedTranslation,
    params: DecodingParams,
    tokenizer: TextVocabulary,
) -> dict[str, Any]:
    parts = other.differs_from(first)
    common = tokenizer.decode(other.tokens[:parts])
    # Show no common text if two translations first differ within a multi-byte character.
    common = common if other.text.startswith(common) else ""
    current = other.tokens == tuple(token.id for token in traced.translation.tokens)
    # Several methods may produce the same translation. For the translation that is shown, name
    # the method that the user chose.
    used = params if current else other.params
    given = other.given and (not current or params.free or params.forced == other.tokens)
    return {
        "common": displayable(common),
        "own": displayable(other.text[len(common) :]),
        "count": len(other.tokens),
        "logProb": round(other.log_prob, 6),
        "how": "given"
        if given
        else METHOD_NAMES[used.method].format(**decoding_fields(used)) + (", forced" if used.forced else ""),
        "parts": None if other is first else min(parts, len(other.tokens) - 1),
        "params": decoding_fields(other.params),
        "current": current,
        "read": other.read,
    }


def shown_nodes(tree: SearchTree, size: int) -> list[int]:
    """Return the indices of the nodes to draw: all surviving hypotheses, and each step's best pruned hypotheses.

    Args:
        tree: the tree of a beam search.
        size: the beam size, and the maximum number of pruned hypotheses per step.
    """
    nodes = []
    pruned: dict[int, int] = {}
    for index, node in enumerate(tree.nodes):
        if node.fate == HypothesisState.PRUNED:
            pruned[node.step] = pruned.get(node.step, 0) + 1
            if pruned[node.step] > size:
                continue
        nodes.append(index)
    return nodes


def _tree(tree: SearchTree, params: DecodingParams, tokenizer: TextVocabulary, head: tuple[int, int]) -> dict[str, Any]:
    indices = shown_nodes(tree, params.beam_size)
    place = {index: number for number, index in enumerate(indices)}
    nodes = [tree.nodes[index] for index in indices]
    rows = None
    if 0 < params.node <= len(nodes):
        decoder, cross = (
            rows[head] if params.show == "head" else rows.mean((0, 1))
            for rows in tree.attention(indices[params.node - 1])
        )
        whose = f"layer {head[0] + 1}, head {head[1] + 1}" if params.show == "head" else "mean of all heads"
        rows = {
            "node": params.node,
            "whose": whose,
            "decoder": rounded(decoder).tolist(),
            "cross": rounded(cross).tolist(),
        }
    return {
        "best": [place[index] for index in tree.best],
        "cutoffs": [round(cutoff, 6) for cutoff in tree.cutoffs],
        "rows": rows,
        "left": len(tree.nodes) - len(nodes),
        "nodes": [
            {
                "parent": None if node.parent is None else place[node.parent],
                "step": node.step,
                "id": node.token,
                "rank": node.rank,
                "label": entry_label(tokenizer, node.token),
                "logProb": round(node.log_prob, 6),
                "score": round(node.score, 6),
                "penalised": round(node.penalised, 6),
                "fate": node.fate.name.lower(),
            }
            for node in nodes
        ],
    }
