"""Builds a `SearchTree` from the steps of a beam search."""

from collections.abc import Sequence

from transformer.decoding.beam import BeamStep
from transformer.decoding.hypotheses import Hypothesis
from transformer.values.translation import BeamNode, HypothesisState, SearchTree


def search_tree(steps: Sequence[BeamStep], best: Hypothesis) -> SearchTree:
    """Build the search tree for one sentence, without the steps' distributions over the vocabulary.

    Args:
        steps: all steps of the search, with attention weights.
        best: best hypothesis found by the search.

    Raises:
        ValueError: the search had more than one sentence, or did not capture attention weights.
    """
    if len(steps[0].read) != 1:
        raise ValueError(f"a tree needs a search for one sentence; this search had {len(steps[0].read)} sentences")
    nodes: list[BeamNode] = []
    first = []
    cutoffs = []
    live: list[int | None] = [None]
    for number, step in enumerate(steps):
        first.append(len(nodes))
        if step.rank is None or step.distribution.attention is None:
            raise ValueError("the search did not capture its attention: search with capture=True")
        columns = (step.parent, step.predicted, step.log_prob, step.rank, step.score, step.penalised, step.fate)
        for place, (row, token, log_prob, rank, score, penalised, fate) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True)
        ):
            nodes.append(
                BeamNode(live[row], number, row, token, log_prob, rank, score, penalised, place, HypothesisState(fate))
            )
        expansions = range(first[-1], len(nodes))
        cutoffs.append(min(nodes[index].score for index in expansions if nodes[index].fate != HypothesisState.PRUNED))
        live = [index for index in expansions if nodes[index].fate == HypothesisState.ALIVE]
    attention = [step.distribution.attention for step in steps if step.distribution.attention is not None]
    return SearchTree(
        nodes=tuple(nodes),
        cutoffs=tuple(cutoffs),
        best=path(nodes, first[best.step] + best.expansion),
        decoder=tuple(each.decoder.float().cpu().numpy() for each in attention),
        cross=tuple(each.cross.float().cpu().numpy() for each in attention),
    )


def path(nodes: Sequence[BeamNode], index: int) -> tuple[int, ...]:
    """Return the indices of the nodes on the path from the first token to the node at `index`."""
    indices = []
    at: int | None = index
    while at is not None:
        indices.append(at)
        at = nodes[at].parent
    return tuple(reversed(indices))
