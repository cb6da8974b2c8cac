"""The whole tree of one beam search: what was expanded, what survived, what was pruned."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from transformer.decoding.beam import BeamStep, Fate
from transformer.decoding.hypotheses import Hypothesis, hypotheses
from transformer.decoding.step import Distribution, Rows, Step


@dataclass(frozen=True)
class Node:
    """One expansion: a hypothesis with one more piece.

    Attributes:
        parent: index of the node that it continues; None behind the start symbol.
        step: the step that predicted its piece, from 0.
        row: which of that step's N hypotheses it continues.
        piece: id.
        log_prob: of the piece, nats.
        rank: of the piece among all that its parent could say; 1 is the likeliest.
        score: sum of the log-probabilities from the start symbol to here, nats.
        penalised: score over the length penalty.
        place: among all expansions of its step by score, from 0.
        fate: what became of it.
    """

    parent: int | None
    step: int
    row: int
    piece: int
    log_prob: float
    rank: int
    score: float
    penalised: float
    place: int
    fate: Fate


@dataclass(frozen=True, eq=False)
class Tree:
    """A beam search of one sentence.

    Attributes:
        steps: as the search yielded them.
        nodes: every expansion, step by step, best score first within a step.
        cutoffs: for each step the least score among those that were not pruned, nats. An expansion below it was pruned;
            one above it only if it ends and stood too low to do so.
        hypotheses: what came of it, best first; at least one.
    """

    steps: tuple[BeamStep, ...]
    nodes: tuple[Node, ...]
    cutoffs: tuple[float, ...]
    hypotheses: tuple[Hypothesis, ...]

    @classmethod
    def of(cls, steps: Iterable[BeamStep]) -> Tree:
        """The tree of a whole search.

        Raises:
            ValueError: the search was of several sentences.
        """
        steps = tuple(steps)
        if len(steps[0].read) != 1:
            raise ValueError(f"a tree is of one sentence, and this search was of {len(steps[0].read)}")
        nodes: list[Node] = []
        cutoffs = []
        kept: list[int | None] = [None]
        for number, step in enumerate(steps):
            first = len(nodes)
            columns = (step.parent, step.predicted, step.log_prob, step.rank, step.score, step.penalised, step.fate)
            for place, (row, piece, log_prob, rank, score, penalised, fate) in enumerate(
                zip(*(column.tolist() for column in columns), strict=True)
            ):
                nodes.append(
                    Node(kept[row], number, row, piece, log_prob, rank, score, penalised, place, Fate(fate))
                )
            cutoffs.append(min(node.score for node in nodes[first:] if node.fate != Fate.PRUNED))
            kept = [index for index in range(first, len(nodes)) if nodes[index].fate == Fate.KEPT]
        return cls(steps, tuple(nodes), tuple(cutoffs), hypotheses(steps, 1)[0])

    def node_of(self, hypothesis: Hypothesis) -> int:
        """Index of the node at which a hypothesis stands."""
        return sum(len(step.parent) for step in self.steps[: hypothesis.step]) + hypothesis.expansion

    def path(self, node: int) -> tuple[Node, ...]:
        """The nodes from the first piece to this one."""
        nodes = []
        at: int | None = node
        while at is not None:
            nodes.append(self.nodes[at])
            at = self.nodes[at].parent
        return tuple(reversed(nodes))

    def walk(self, node: int) -> tuple[Step, ...]:
        """The steps from the start symbol to this node, as if it alone had been decoded: N = M = 1."""
        return tuple(_single(self.steps[node.step], node) for node in self.path(node))


def _single(step: BeamStep, node: Node) -> Step:
    """The part of a step that led to a node. Its seconds are those of the whole step, all hypotheses together."""
    row, expansion = slice(node.row, node.row + 1), slice(node.place, node.place + 1)
    rows = step.distribution.rows
    return Step(
        read=step.read[row],
        distribution=Distribution(
            step.distribution.log_probs[row], rows and Rows(rows.decoder[row], rows.cross[row])
        ),
        logits=step.logits[row],
        predicted=step.predicted[expansion],
        log_prob=step.log_prob[expansion],
        score=step.score[expansion],
        seconds=step.seconds,
    )
