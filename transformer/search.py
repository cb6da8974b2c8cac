"""From a way of choosing pieces to a finished search, as numbers that no longer need the model."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.decoding import Constraints, Step, Tree, beam_search, best, greedy, sample
from transformer.decoding.step import rank
from transformer.model import Transformer
from transformer.road import METHODS, LayerPredictions, SearchTree, Way
from transformer.tokenizer import END

LAYER_CANDIDATES = 3


@dataclass(frozen=True, eq=False)
class Result:
    """What a search of one sentence came to.

    Attributes:
        pieces: ids taken, the end symbol included.
        log_prob: sum of their log-probabilities, nats.
        complete: whether the last one is the end symbol.
        tree: of a beam search.
    """

    pieces: tuple[int, ...]
    log_prob: float
    complete: bool
    tree: SearchTree | None


def search(
    model: Transformer, memory: Tensor, way: Way, constraints: Constraints, *, limit: int, capture: bool
) -> Result:
    """Decode one sentence.

    Args:
        model: in evaluation mode; call under `torch.inference_mode()`.
        memory: the encoder's output, [1, S, D].
        way: how pieces are chosen.
        constraints: pieces forced and banned.
        limit: most steps to take.
        capture: return the tree of a beam search.

    Raises:
        ValueError: a setting is out of range, or the constraints cannot be followed.
    """
    shared = {"limit": limit, "constraints": constraints}
    if way.method == "beam":
        tree = Tree.of(
            beam_search(model, memory, None, size=way.size, alpha=way.alpha, capture=capture, **shared)
        )
        found = tree.hypotheses[0]
        return Result(found.pieces, found.score, found.ended, _as_arrays(tree) if capture else None)
    if way.method == "sample":
        steps: list[Step] = list(sample(
            model, memory, None, seed=way.seed, temperature=way.temperature, top_k=way.top_k or None, top_p=way.top_p,
            **shared,
        ))
    elif way.method == "greedy":
        steps = list(greedy(model, memory, None, **shared))
    else:
        raise ValueError(f"there is no method {way.method!r}: choose one of {', '.join(METHODS)}")
    pieces = tuple(int(step.predicted) for step in steps)
    return Result(pieces, float(steps[-1].score), pieces[-1] == END, None)


def layer_predictions(
    model: Transformer, outputs: list[Tensor], predicted: Tensor
) -> tuple[LayerPredictions, Tensor]:
    """What every decoder layer would say, and the rank of each piece taken.

    Args:
        model: whose final norm and output layer are used.
        outputs: of each decoder layer, [1, T, D].
        predicted: ids taken, [T].

    Returns:
        The predictions, and ranks [T] among what the last layer, and so the model, says.
    """
    ids, log_probs, taken = [], [], []
    # Layer by layer, in the shapes in which the model itself runs: so the last one's numbers are the model's own, bit
    # for bit, and only one layer's whole distributions are held at a time.
    for output in outputs:
        said = model.generator(model.decoder_norm(output)[0]).float().log_softmax(dim=-1)
        candidates = best(said, LAYER_CANDIDATES)
        ids.append(candidates.ids)
        log_probs.append(candidates.log_probs)
        taken.append(said.gather(-1, predicted[:, None]).squeeze(-1))
    arrays = (torch.stack(parts).cpu().numpy() for parts in (ids, log_probs, taken))
    return LayerPredictions(*arrays), rank(said, taken[-1])


def _as_arrays(tree: Tree) -> SearchTree:
    """Without the distributions over the whole vocabulary, which take most of a tree's memory."""
    index: int | None = tree.node_of(tree.hypotheses[0])
    path = []
    while index is not None:
        path.append(index)
        index = tree.nodes[index].parent
    rows = [step.distribution.rows for step in tree.steps]
    return SearchTree(
        tree.nodes, tree.cutoffs, tuple(reversed(path)),
        tuple(row.decoder.float().cpu().numpy() for row in rows),
        tuple(row.cross.float().cpu().numpy() for row in rows),
    )
