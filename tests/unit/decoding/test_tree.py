from collections import Counter

import numpy as np
import pytest
import torch

from transformer.decoding.beam import beam_search, length_penalty_factor
from transformer.decoding.hypotheses import hypotheses
from transformer.decoding.tree import path, search_tree
from transformer.model.recorder import Recorder
from transformer.text.tokenizer import END, START
from transformer.values.translation import HypothesisState

SOURCE = [8, 8, 20, 21, 22, END]


@pytest.fixture(scope="module", params=[2, 5, 10])
def steps(decode, request):
    return decode(beam_search, [SOURCE], beam_size=request.param, capture=True)


@pytest.fixture(scope="module")
def tree(steps):
    return search_tree(steps, hypotheses(steps, 1)[0][0])


def test_log_probabilities_along_a_path_add_up_to_its_score(tree):
    for index, node in enumerate(tree.nodes):
        nodes = [tree.nodes[each] for each in path(tree.nodes, index)]
        assert sum(each.log_prob for each in nodes) == pytest.approx(node.score, abs=1e-5)
        assert [each.step for each in nodes] == list(range(node.step + 1))
        assert node.penalised == pytest.approx(node.score / length_penalty_factor(len(nodes)), abs=1e-9)


def test_log_probability_of_a_tree_node_matches_the_model(tree, model):
    source = torch.tensor([SOURCE])
    for index, node in enumerate(tree.nodes):
        if node.place > 12:
            continue
        tokens = [tree.nodes[each].token for each in path(tree.nodes, index)]
        with torch.inference_mode():
            said = model(source, torch.tensor([[START, *tokens[:-1]]])).log_softmax(-1)[0, -1]
        assert node.log_prob == pytest.approx(float(said[node.token]), abs=1e-5)
        assert node.rank == 1 + int((said > said[node.token]).sum())


def test_only_kept_nodes_of_the_search_tree_have_children(tree):
    parents = {node.parent for node in tree.nodes} - {None}
    assert parents == {index for index, node in enumerate(tree.nodes) if node.fate == HypothesisState.ALIVE}
    for node in tree.nodes:
        assert (node.parent is None) == (node.step == 0)
        assert node.parent is None or tree.nodes[node.parent].step == node.step - 1


def test_search_tree_nodes_below_the_cutoff_are_pruned(tree):
    for node in tree.nodes:
        if node.score < tree.cutoffs[node.step]:
            assert node.fate == HypothesisState.PRUNED
        elif node.fate == HypothesisState.PRUNED:
            assert node.token == END or node.score == tree.cutoffs[node.step]


def test_hypotheses_are_the_unpruned_leaves_of_the_tree(tree, steps):
    def leaf_of(hypothesis):
        return sum(len(step.parent) for step in steps[: hypothesis.step]) + hypothesis.expansion

    found = hypotheses(steps, 1)[0]
    leaves = [leaf_of(each) for each in found]
    assert sorted(leaves) == [
        index
        for index, node in enumerate(tree.nodes)
        if node.fate in (HypothesisState.ENDED, HypothesisState.UNFINISHED)
    ]
    for each, leaf in zip(found, leaves, strict=True):
        assert tuple(tree.nodes[index].token for index in path(tree.nodes, leaf)) == each.tokens
        assert (tree.nodes[leaf].score, tree.nodes[leaf].penalised) == (each.score, each.penalised)
        assert tree.nodes[leaf].fate == (HypothesisState.ENDED if each.ended else HypothesisState.UNFINISHED)


def test_tree_nodes_of_a_step_are_ordered_by_score(tree, steps):
    counts = Counter(node.step for node in tree.nodes)
    assert len(counts) == len(steps) == len(tree.cutoffs)
    for step, count in counts.items():
        nodes = [node for node in tree.nodes if node.step == step]
        assert [node.place for node in nodes] == list(range(count))
        assert all(a.score >= b.score for a, b in zip(nodes, nodes[1:], strict=False))


def test_best_hypothesis_is_a_path_of_the_tree(tree, steps):
    best = hypotheses(steps, 1)[0][0]
    assert tuple(tree.nodes[index].token for index in tree.best) == best.tokens
    assert tree.nodes[tree.best[-1]].score == best.score


def test_attention_row_of_a_tree_node_comes_from_the_step_that_predicted_its_token(tree, model):
    for index in tree.best:
        decoder, cross = tree.attention(index)
        tokens = [tree.nodes[each].token for each in path(tree.nodes, index)]
        record = Recorder(details=False)
        with torch.inference_mode():
            memory = model.encode(torch.tensor([SOURCE]), None)
            model.decode(torch.tensor([[START, *tokens[:-1]]]), memory, None, record=record)
        expected = [torch.cat(record.tensors[f"{kind}.weights"])[:, :, -1].numpy() for kind in ("decoder", "cross")]
        np.testing.assert_allclose(decoder, expected[0], atol=1e-5)
        np.testing.assert_allclose(cross, expected[1], atol=1e-5)


def test_beam_tree_accepts_only_one_sentence(decode):
    expanded = decode(beam_search, [[5, END], [6, END]], beam_size=2, capture=True)
    with pytest.raises(ValueError, match="one sentence"):
        search_tree(expanded, hypotheses(expanded, 2)[0][0])


def test_beam_tree_requires_recorded_attention(decode):
    expanded = decode(beam_search, [[5, END]], beam_size=2)
    with pytest.raises(ValueError, match="capture=True"):
        search_tree(expanded, hypotheses(expanded, 1)[0][0])
