"""Computes the frames of an animation that follows one word through the model, with the numbers from a trace."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from transformer.analysis.heads.clearest_head import clearest_head
from transformer.analysis.heads.metrics import HeadMetrics
from transformer.analysis.replay.embedding import embedded_text
from transformer.analysis.word_links import counterparts, source_words, target_words, word_links
from transformer.values.trace import Kind, Trace
from transformer.values.weights import Weights

LineItems = Literal["words", "source", "target", "predicted", "vocabulary", "layers", "dimensions"]
# Number of value vectors to show. They belong to the tokens with the largest weights.
VALUE_COUNT = 3
# Number of candidate links per word: those with the largest excess (see `WordLink`). One of them is shown.
CANDIDATE_LINKS = 3
# English and German articles. Self-attention to an article is not shown, because it explains little.
ARTICLES = frozenset({"a", "an", "the", "der", "die", "das", "den", "dem", "des", "ein", "eine", "einen", "einem"})


@dataclass(frozen=True, eq=False)
class Line:
    """One row of numbers in a frame.

    Attributes:
        name: name of the quantity.
        of: items that the numbers belong to, such as source tokens ("source") or dimensions ("dimensions").
        numbers: the numbers, [N].
        at: vocabulary id of each number, int [N]; None unless `of` is "vocabulary".
        allowed: whether the mask allows each token, bool [N]; None if there is no mask.
        token: position of the source token that the whole row belongs to; -1 if none.
    """

    name: str
    of: LineItems
    numbers: np.ndarray
    at: np.ndarray | None = None
    allowed: np.ndarray | None = None
    token: int = -1


@dataclass(frozen=True, eq=False)
class Frame:
    """One frame of the animation.

    Attributes:
        name: name of the frame.
        row: 0-based index of the word, token or step that the frame shows.
        lines: rows of numbers to show.
        kind, layer, head: attention head that the numbers come from; None, -1 and -1 if the frame shows no head.
    """

    name: str
    row: int
    lines: tuple[Line, ...]
    kind: Kind | None = None
    layer: int = -1
    head: int = -1


def sentence_film(trace: Trace, weights: Weights, metrics: Mapping[Kind, HeadMetrics], word: int) -> tuple[Frame, ...]:
    """Return the frames that follow a source word.

    They lead from tokenization to the decoder steps that write and read the word's translation. The translation is the
    target word with the most cross-attention to the source word. For cross-attention, the frames show the head that
    links these two words most strongly (see `word_links`). For self-attention, the candidates are the strongest
    links from the word (in the decoder, from its translation) to words other than articles. The frames show the head
    of the candidate in the highest layer. Without a suitable link, `clearest_head` chooses the head.

    Args:
        trace: trace with details, from a model with an encoder and a decoder.
        weights: weights of the model.
        metrics: head metrics for each attention kind.
        word: 0-based index of the source word; -1 for the first token.

    Raises:
        ValueError: the trace was not computed with `details=True`.
    """
    source, target = source_words(trace), target_words(trace)
    target_word = counterparts(trace)[0][word] if word >= 0 else -1
    row = source.rows[word][0] if word >= 0 else 0
    step = target.rows[target_word][0] if target_word >= 0 else 0
    links = word_links(trace, metrics)

    def frame(name: str, kind: Kind, *lines: Line) -> Frame:
        return Frame(name, row if kind == "encoder" else step, lines, kind, *heads[kind])

    def head_of(kind: Kind) -> tuple[int, int]:
        followed = word if kind == "encoder" else target_word
        own = [link for link in links if link.kind == kind and link.row == followed]
        if kind == "cross":
            own = [link for link in own if link.column == word]
        else:
            words = source if kind == "encoder" else target
            own = [link for link in own if words.spelling(link.column).lower() not in ARTICLES]
        weights_line = (
            max(own[:CANDIDATE_LINKS], key=lambda link: link.layer) if own else clearest_head(trace, metrics[kind])
        )
        return weights_line.layer, weights_line.head

    heads = {kind: head_of(kind) for kind in trace.kinds}
    queries, keys, values, outputs, scores = (
        trace.detail("encoder", name)[heads["encoder"]] for name in ("queries", "keys", "values", "outputs", "scores")
    )
    attention = Line("weights", "source", trace.encoder[heads["encoder"]][row], allowed=trace.encoder_mask[row])
    strongest = np.argsort(-attention.numbers, kind="stable")[:VALUE_COUNT].tolist()
    text = embedded_text(trace, weights, "encoder")
    vectors = {"embedding": text.scaled, "position": text.positions, "input": text.total}
    # Keep the stream before the first layer and after each layer, but not between sub-layers.
    stream = trace.residual_stream("encoder")[:: len(trace.parts("encoder")), row].astype(np.float64)
    similarity = stream @ stream[0] / (np.linalg.norm(stream, axis=-1) * np.linalg.norm(stream[0]))
    back = Line("weights", "target", trace.decoder[heads["decoder"]][step], allowed=trace.decoder_mask[step])
    weights_line = Line("weights", "source", trace.cross[heads["cross"]][step], allowed=trace.cross_mask[step])
    likely = np.exp(trace.candidate_log_probs[step])
    return (
        Frame("words", word, (Line("tokens", "words", np.array([len(group) for group in source.rows])),)),
        Frame("tokens", row, (Line("ids", "source", text.ids),)),
        Frame(
            "vector",
            row,
            tuple(
                Line(name, "dimensions", array[row], token=row) for name, array in vectors.items() if array is not None
            ),
        ),
        frame(
            "scores",
            "encoder",
            Line("query", "dimensions", queries[row], token=row),
            Line("key", "dimensions", keys[strongest[0]], token=strongest[0]),
            Line("scores", "source", scores[row]),
        ),
        frame("weights", "encoder", attention),
        frame(
            "values",
            "encoder",
            *(Line("value", "dimensions", values[at], token=at) for at in strongest),
            Line("output", "dimensions", outputs[row], token=row),
        ),
        Frame("layers", row, (Line("similarity", "layers", similarity),)),
        frame("mask", "decoder", back),
        frame("cross", "cross", weights_line),
        Frame("next", step, (Line("probabilities", "vocabulary", likely, at=trace.candidate_ids[step]),)),
        Frame("again", step, (Line("probabilities", "predicted", np.exp(trace.log_probs)),)),
    )
