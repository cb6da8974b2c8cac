"""Compares the search methods on the shipped model."""

from functools import partial
from itertools import product

import pytest
import torch

from transformer.decoding.beam import beam_search, length_penalty_factor
from transformer.decoding.constraints import Constraints
from transformer.decoding.greedy import greedy
from transformer.decoding.hypotheses import hypotheses
from transformer.decoding.sampling import sample
from transformer.decoding.step import top_candidates
from transformer.decoding.tree import path, search_tree
from transformer.text.tokenizer import END, PAD
from transformer.values.translation import HypothesisState

SUBJECTS = [
    "I",
    "We",
    "The old man",
    "My sister",
    "Nobody",
    "The children",
    "A good teacher",
    "Your friend",
    "They",
    "The dog that lives next door",
]
PREDICATES = [
    "went home",
    "can swim very well",
    "will buy a new car tomorrow",
    "did not understand the question",
    "never eats meat",
    "wanted to sleep",
    "gave her the book",
    "works in a small factory",
    "lost the key yesterday",
    "is afraid of the dark",
    "has been waiting for two hours",
    "wrote a long letter to the king",
    "could not find the way back",
    "likes to play chess after dinner",
    "asked me where the station was",
    "must be very tired",
    "drank all the water",
    "saw it on television",
    "told us a strange story about the war",
    "should have called the police",
]
TEXTS = [f"{subject} {predicate}." for subject, predicate in product(SUBJECTS, PREDICATES)]


@pytest.fixture(scope="module")
def search(shipped, decode):
    """search(way, texts, **settings) returns the steps of a search with the shipped model."""

    def search(way, texts, **settings):
        rows = [shipped.tokenizer.encode_ids(text) for text in texts]
        return decode(way, rows, model=shipped._model, **{"limit": 2 * max(map(len, rows)) + 10} | settings)

    return search


def translations(steps):
    """Return the tokens of each translation, including the end symbol."""
    return [
        tuple(token for token in row if token != PAD)
        for row in torch.stack([step.predicted for step in steps], dim=1).tolist()
    ]


@pytest.mark.parametrize("chosen", [TEXTS[::12], pytest.param(TEXTS, marks=pytest.mark.thorough)], ids=len)
def test_best_beam_hypothesis_scores_at_least_as_high_as_greedy_decoding(search, chosen):
    """At most one sentence in a hundred may score lower, and only if its greedy translation was pruned."""
    order = sorted(chosen, key=len)
    exceptions = {}
    for start in range(0, len(order), 50):
        texts = order[start : start + 50]
        steps = search(greedy, texts)
        found = hypotheses(search(beam_search, texts, beam_size=4), len(texts))
        for text, tokens, score, (best, *_) in zip(
            texts, translations(steps), steps[-1].score.tolist(), found, strict=True
        ):
            assert best.ended and tokens[-1] == END
            if best.penalised < score / length_penalty_factor(len(tokens)) - 1e-5:
                exceptions[text] = tokens
    assert len(exceptions) <= len(chosen) / 100, f"beam search found worse than greedy decoding: {list(exceptions)}"
    for text, tokens in exceptions.items():
        expanded = search(beam_search, [text], beam_size=4, capture=True)
        nodes = search_tree(expanded, hypotheses(expanded, 1)[0][0]).nodes
        on_the_way = [
            node
            for index, node in enumerate(nodes)
            if tuple(nodes[each].token for each in path(nodes, index)) == tokens[: node.step + 1]
        ]
        assert on_the_way[-1].fate == HypothesisState.PRUNED, (
            f"{text!r} lost its greedy translation, which was never pruned"
        )


def test_sampling_and_beam_search_with_equivalent_settings_match_greedy_decoding(search):
    texts = TEXTS[::25]
    steps = search(greedy, texts)
    expected = translations(steps)
    cold = translations(search(partial(sample, seed=1, temperature=0.01), texts))
    # If two tokens are almost equally likely, the less likely one is sometimes drawn even at temperature 0.01.
    top = torch.stack([top_candidates(step.distribution.log_probs, 2).log_probs for step in steps], dim=1)
    torn = ((top[..., 0] - top[..., 1] < 0.2) & (torch.stack([step.predicted for step in steps], dim=1) != PAD)).any(-1)
    assert torn.sum() < len(texts) / 2
    assert all(own == other for own, other, is_torn in zip(expected, cold, torn, strict=True) if not is_torn)
    assert translations(search(partial(sample, seed=1, top_k=1, temperature=2.0), texts)) == expected
    found = hypotheses(search(beam_search, texts, beam_size=1), len(texts))
    assert [best.tokens for best, *_ in found] == expected


def test_forcing_the_original_first_token_restores_the_translation(search, shipped):
    own = translations(search(greedy, TEXTS[:1]))[0]
    other = translations(search(greedy, TEXTS[:1], constraints=Constraints(suppressed={own[0]})))[0]
    assert other[0] != own[0] and other[-1] == END
    again = translations(search(greedy, TEXTS[:1], constraints=Constraints(prefix=own[:1])))[0]
    assert again == own and shipped.tokenizer.decode(own)
