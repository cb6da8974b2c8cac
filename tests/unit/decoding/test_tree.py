from __future__ import annotations

from collections import Counter
from dataclasses import FrozenInstanceError

import pytest
import torch

from transformer.decoding import Fate, Tree, beam_search, greedy, length_penalty
from transformer.tokenizer import END, START


@pytest.fixture(scope="module", params=[2, 5, 10])
def tree(decode, request):
    return Tree.of(decode(beam_search, [[8, 8, 20, 21, 22, END]], size=request.param, capture=True))


def test_log_probabilities_along_every_path_sum_to_its_score(tree):
    for index, node in enumerate(tree.nodes):
        path = tree.path(index)
        assert sum(each.log_prob for each in path) == pytest.approx(node.score, abs=1e-5)
        assert [each.step for each in path] == list(range(node.step + 1))
        assert node.penalised == pytest.approx(node.score / length_penalty(len(path)), abs=1e-9)


def test_log_probabilities_are_those_of_a_model_that_reads_the_path(tree, model):
    source = torch.tensor([[8, 8, 20, 21, 22, END]])
    for index, node in enumerate(tree.nodes):
        if node.place > 12:
            continue
        pieces = [each.piece for each in tree.path(index)]
        with torch.inference_mode():
            said = model(source, torch.tensor([[START, *pieces[:-1]]])).log_softmax(-1)[0, -1]
        assert node.log_prob == pytest.approx(float(said[node.piece]), abs=1e-5)
        assert node.rank == 1 + int((said > said[node.piece]).sum())


def test_only_what_was_kept_is_continued(tree):
    parents = {node.parent for node in tree.nodes} - {None}
    assert parents == {index for index, node in enumerate(tree.nodes) if node.fate == Fate.KEPT}
    for node in tree.nodes:
        assert (node.parent is None) == (node.step == 0)
        assert node.parent is None or tree.nodes[node.parent].step == node.step - 1


def test_what_fell_below_the_cutoff_was_pruned(tree):
    for node in tree.nodes:
        if node.score < tree.cutoffs[node.step]:
            assert node.fate == Fate.PRUNED
        elif node.fate == Fate.PRUNED:
            assert node.piece == END or node.score == tree.cutoffs[node.step]


def test_hypotheses_are_the_leaves_that_were_not_pruned(tree):
    leaves = [tree.node_of(each) for each in tree.hypotheses]
    assert sorted(leaves) == [
        index for index, node in enumerate(tree.nodes) if node.fate in (Fate.ENDED, Fate.UNFINISHED)
    ]
    for each, leaf in zip(tree.hypotheses, leaves, strict=True):
        assert tuple(node.piece for node in tree.path(leaf)) == each.pieces
        assert (tree.nodes[leaf].score, tree.nodes[leaf].penalised) == (each.score, each.penalised)
        assert tree.nodes[leaf].fate == (Fate.ENDED if each.ended else Fate.UNFINISHED)


def test_places_count_from_the_best_of_each_step(tree):
    counts = Counter(node.step for node in tree.nodes)
    assert len(counts) == len(tree.steps) == len(tree.cutoffs)
    for step, count in counts.items():
        nodes = [node for node in tree.nodes if node.step == step]
        assert [node.place for node in nodes] == list(range(count))
        assert all(a.score >= b.score for a, b in zip(nodes, nodes[1:], strict=False))


def test_the_walk_to_a_node_is_a_search_of_its_own(tree):
    for hypothesis in tree.hypotheses:
        walk = tree.walk(tree.node_of(hypothesis))
        assert tuple(int(step.predicted) for step in walk) == hypothesis.pieces
        assert float(walk[-1].score) == hypothesis.score
        for t, step in enumerate(walk):
            assert step.read.shape == step.predicted.shape == step.log_prob.shape == step.score.shape == (1,)
            assert step.log_prob == step.distribution.log_probs[0, step.predicted]
            assert step.distribution.rows.decoder.shape == (1, 2, 4, t + 1)


def test_a_beam_of_one_walks_as_greedy_decoding_does(decode):
    tree = Tree.of(decode(beam_search, [[5, 9, 7, END]], size=1))
    walk = tree.walk(tree.node_of(tree.hypotheses[0]))
    for ours, step in zip(walk, decode(greedy, [[5, 9, 7, END]]), strict=True):
        for name in ("read", "logits", "predicted", "log_prob", "score", "rank"):
            torch.testing.assert_close(getattr(ours, name), getattr(step, name), atol=1e-6, rtol=0)


def test_a_tree_never_changes(tree):
    with pytest.raises(FrozenInstanceError):
        tree.nodes = ()
    with pytest.raises(FrozenInstanceError):
        tree.nodes[0].score = 0.0


def test_a_tree_is_of_one_sentence(decode):
    with pytest.raises(ValueError, match="one sentence"):
        Tree.of(decode(beam_search, [[5, END], [6, END]], size=2))
