from dataclasses import replace
from itertools import product

import pytest
import torch

from transformer.config import TransformerConfig
from transformer.decoding.beam import beam_search, length_penalty_factor
from transformer.decoding.constraints import Constraints
from transformer.decoding.greedy import greedy
from transformer.decoding.hypotheses import hypotheses
from transformer.decoding.tree import search_tree
from transformer.generation import Generation
from transformer.model.transformer import build
from transformer.text.tokenizer import END, START
from transformer.values.translation import HypothesisState


def test_length_penalty_matches_its_formula():
    for length, expected in ((5, 1.358655), (10, 1.732862), (20, 2.354362)):
        assert length_penalty_factor(length) == pytest.approx(expected, abs=1e-6)
    assert length_penalty_factor(1, 0.6) == length_penalty_factor(20, 0.0) == 1


def test_beam_of_size_one_matches_greedy_decoding(decode, sources):
    for row in sources:
        greedily, beam = decode(greedy, [row]), decode(beam_search, [row], beam_size=1)
        assert len(beam) == len(greedily)
        (best, *_) = hypotheses(beam, 1)[0]
        assert best.tokens == tuple(int(step.predicted) for step in greedily)
        assert best.score == pytest.approx(float(greedily[-1].score), abs=1e-5)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
def test_wide_beam_finds_the_best_possible_translation(alpha):
    """With three possible tokens and three steps, a beam of 10 prunes almost nothing."""
    limit = 3
    source = torch.tensor([[4, 1, END]])
    for seed in range(10):
        torch.manual_seed(seed)
        model = build(
            TransformerConfig(
                source_vocabulary=5, target_vocabulary=5, d_model=8, heads=2, encoder_layers=1, decoder_layers=1, d_ff=8
            )
        ).eval()
        with torch.inference_mode():
            cache = model.start_cache(model.encode(source, None), None)
            steps = beam_search(model, cache, beam_size=10, limit=limit, length_penalty=alpha)
            best = hypotheses(steps, 1)[0][0]
            scores = {}
            for length in range(limit):
                for tokens in product((1, 4), repeat=length):
                    read = torch.tensor([[START, *tokens]])
                    log_probs = model(source, read).log_softmax(-1)[0]
                    score = float(log_probs.gather(-1, torch.tensor([[*tokens, END]]).T).sum())
                    scores[(*tokens, END)] = score / length_penalty_factor(length + 1, alpha)
        expected = max(scores, key=scores.__getitem__)
        assert best.ended and best.tokens == expected
        assert best.penalised == pytest.approx(scores[expected], abs=1e-5)


def test_beam_search_of_a_batch_matches_beam_search_of_single_sentences(decode, sources):
    for size in (2, 5):
        together = hypotheses(decode(beam_search, sources, beam_size=size), len(sources))
        for row, found in zip(sources, together, strict=True):
            alone = hypotheses(decode(beam_search, [row], beam_size=size), 1)[0]
            assert [each.tokens for each in found] == [each.tokens for each in alone]
            assert [each.score for each in found] == pytest.approx([each.score for each in alone], abs=1e-4)


def test_beam_rows_freed_by_a_finished_sentence_are_given_to_another_sentence(decode, biased):
    """Each of the two sentences starts with one row. After the first sentence ends, the second has both rows."""
    rows, settings = [[4, 4, END], [21, 27, END]], {"model": biased(END, 3.0), "beam_size": 2, "length_penalty": 0.0}
    steps = decode(beam_search, rows, **settings)
    assert [step.sentence.tolist() for step in steps[:2]] == [[0, 1], [1, 1]]
    for ours, alone in zip(steps[1:], decode(beam_search, rows[1:], **settings)[1:], strict=True):
        torch.testing.assert_close(ours.distribution.log_probs, alone.distribution.log_probs, atol=1e-5, rtol=0)


def test_beam_keeps_the_hypotheses_with_the_best_scores(decode, sources):
    size = 4
    for step in decode(beam_search, sources, beam_size=size):
        owner = step.sentence[step.parent]
        for sentence in step.sentence.unique():
            mine = owner == sentence
            score, fate, ending = step.score[mine], step.fate[mine], step.predicted[mine] == END
            assert (score.diff() <= 0).all(), "best first"
            going_on = (fate == HypothesisState.ALIVE) | (fate == HypothesisState.UNFINISHED)
            assert going_on.sum() == min(size, int((~ending).sum()))
            assert going_on[~ending][:size].all() and not going_on[ending].any()
            assert torch.equal((fate == HypothesisState.ENDED).nonzero(), ending[:size].nonzero())


def test_beam_rows_continue_the_hypotheses_kept_in_the_previous_step(decode, sources):
    steps = decode(beam_search, sources, beam_size=3)
    for step, following in zip(steps, steps[1:], strict=False):
        live = step.fate == HypothesisState.ALIVE
        assert torch.equal(following.read, step.predicted[live])
        assert torch.equal(following.sentence, step.sentence[step.parent[live]])
        log_probs = following.distribution.log_probs[following.parent, following.predicted]
        torch.testing.assert_close(
            following.score, step.score[live][following.parent] + log_probs.double(), atol=1e-9, rtol=0
        )
    assert not (steps[-1].fate == HypothesisState.ALIVE).any()


def test_finished_hypotheses_come_first_in_order_of_score(decode, sources):
    for found in hypotheses(decode(beam_search, sources, beam_size=5), len(sources)):
        assert [each.ended for each in found] == sorted((each.ended for each in found), reverse=True)
        for ended in (True, False):
            penalised = [each.penalised for each in found if each.ended is ended]
            assert penalised == sorted(penalised, reverse=True)
        for each in found:
            assert each.ended == (each.tokens[-1] == END) and END not in each.tokens[:-1]
            assert each.penalised == pytest.approx(each.score / length_penalty_factor(len(each.tokens)))


def test_beam_search_stops_when_no_unfinished_hypothesis_can_win(decode, biased):
    """Ending at once scores higher than any longer hypothesis could, even with the length penalty."""
    (step,) = decode(beam_search, [[5, 9, END]], model=biased(END, 30.0), beam_size=4)
    assert (
        step.fate.tolist().count(HypothesisState.ENDED) == 1
        and step.fate.tolist().count(HypothesisState.UNFINISHED) == 4
    )


def test_stronger_length_penalty_gives_longer_translations(decode, sources):
    def mean_length(alpha):
        found = hypotheses(decode(beam_search, sources, beam_size=5, length_penalty=alpha), len(sources))
        return sum(len(best_first[0].tokens) for best_first in found)

    assert mean_length(0.0) < mean_length(2.0)


def test_beam_has_one_hypothesis_within_a_forced_prefix(decode):
    steps = decode(beam_search, [[5, 9, END]], beam_size=4, constraints=Constraints(prefix=(7, 8, 9)))
    assert [len(step.read) for step in steps[:5]] == [1, 1, 1, 1, 4]
    assert all(each.tokens[:3] == (7, 8, 9) for each in hypotheses(steps, 1)[0])


def test_beam_search_uses_the_full_beam_size_after_a_forced_prefix(decode):
    steps = decode(beam_search, [[5, 9, END]], beam_size=4, constraints=Constraints(prefix=(7,)))
    assert steps[0].predicted.tolist() == [7] and steps[0].fate.tolist() == [HypothesisState.ALIVE]
    assert (steps[1].fate == HypothesisState.ALIVE).sum() == 4


@pytest.mark.parametrize("early_stopping", [True, False, "never"])
def test_imported_generation_settings_do_not_change_reported_log_probabilities(decode, model, sources, early_stopping):
    settings = Generation(early_stopping=early_stopping, repetition_penalty=1.3)
    imported = build(replace(model.config, generation=settings)).eval()
    imported.load_state_dict(model.state_dict())
    for row, size in product(sources, (1, 4)):
        steps = decode(beam_search, [row], model=imported, beam_size=size, capture=True)
        best = hypotheses(steps, 1, limit=12)[0][0]
        tree = search_tree(steps, best)
        with torch.inference_mode():
            read = torch.tensor([[START, *best.tokens[:-1]]])
            log_probs = imported(torch.tensor([row]), read).log_softmax(-1)[0]
        taken = log_probs.gather(-1, torch.tensor([best.tokens]).T).squeeze(-1)
        assert [tree.nodes[index].log_prob for index in tree.best] == pytest.approx(taken.tolist(), abs=1e-5)
        assert best.log_prob == pytest.approx(float(taken.sum()), abs=1e-4)
