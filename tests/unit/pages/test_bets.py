import numpy as np
import pytest

from pages.ui.attention.looks_most import looks_most
from pages.ui.bets.bet import MAX_VOTE_CHOICES, answer_of_worth
from pages.ui.change_attention.make_it_say import attempt, make_it_say, word_to_write
from pages.ui.decoding.next_token import next_token
from pages.ui.params.bets import BetParams
from pages.ui.params.state import EXAMPLES
from pages.ui.reading.sentence import Reading
from pages.ui.runs.inference import CachedRuns
from pages.ui.switch_heads_off.spare_head import certain_heads, spare_head
from pages.ui.what_mattered.missing_word import missing_word
from transformer.ablation.effect import effect_of
from transformer.attribution.attribution import whole_sentence
from transformer.values.interventions import Interventions


@pytest.fixture(scope="module")
def reading(shipped):
    trace = shipped.trace("The old man reads the newspaper because it rains.")
    return Reading(CachedRuns(shipped), trace, trace)


def test_answer_to_the_attention_bet_uses_the_mean_of_all_heads(reading):
    bet = looks_most(reading, "cross")
    found = bet.settle()
    row = next(
        row
        for row, token in enumerate(reading.trace.predicted_tokens)
        if f"writes “{token.text.strip('▁')}”" in bet.question
    )
    words = reading.trace.cross.mean(axis=(0, 1))[row, :-1]
    assert "newspaper" in bet.choices and len(bet.choices) == len(set(bet.choices))
    # As in the displayed map, the end symbol is left out and the other weights are rescaled.
    assert max(found.shares) >= words.max() and found.question.answer == int(np.argmax(found.shares))
    assert [bet.choice_at([position]) for position in (0, len(reading.trace.source_tokens) - 1)] == ["The", None]
    assert f"“{bet.choices[found.question.answer]}” gets {max(found.shares):.0%}" in found.reason


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_bet_is_offered_for_encoder_and_decoder_attention(reading, kind):
    bet = looks_most(reading, kind)
    assert bet is not None and sum(bet.settle().shares) == pytest.approx(1, abs=1e-3)


def test_bet_on_the_next_token_uses_model_probabilities_and_hides_the_answer(reading):
    bet = next_token(reading)
    trace, found = reading.trace, bet.settle()
    step = int(trace.entropy.argmax())
    probabilities = np.exp(trace.candidate_log_probs[step, 1:5])
    assert sorted(found.shares, reverse=True) == pytest.approx(probabilities.tolist())
    second = reading.tokenizer.texts[trace.candidate_ids[step, 1]].strip("▁")
    assert found.question.choices[found.question.answer] == second and f"“{second}”" not in bet.question
    assert f"finds “{trace.predicted_tokens[step].text.strip('▁')}” most likely" in bet.question
    before = trace.target_text[: trace.predicted_tokens[step].span[0]].strip()
    assert f"After “{before}”" in bet.question or not before


def test_answer_to_the_bet_on_a_head_is_the_head_with_the_least_effect(reading, shipped):
    bet = spare_head(reading)
    heads, found = certain_heads(reading.trace), bet.settle()
    assert len(set(heads)) == len(bet.choices) == 4
    changes = [abs(effect_of(shipped, reading.trace.source_text, Interventions({each: 0.0})).change) for each in heads]
    assert found.question.worth == pytest.approx([-change for change in changes], abs=1e-4)
    assert found.question.answer == int(np.argmin(changes)) and found.reason.count("without") == 2


def test_answer_to_the_bet_on_a_word_is_measured_by_erasure(reading, shipped):
    bet = missing_word(reading)
    measured = shipped.attribute(reading.trace, "erasure", [whole_sentence(reading.trace)], words=True).source[0]
    found = bet.settle()
    assert found.question.worth == pytest.approx(measured[: len(bet.choices)].tolist(), abs=1e-4)
    assert bet.choices[found.question.answer] in found.reason
    one = shipped.trace("Hello")
    assert missing_word(Reading(reading.runs, one, one)) is None


def test_word_that_the_user_is_asked_to_force_is_missing_from_the_translation(shipped):
    trace = shipped.trace(EXAMPLES[0])
    word = make_it_say(Reading(CachedRuns(shipped), trace, trace))
    assert word == "Die" and word not in trace.target_text


def test_forcing_a_word_is_judged_by_the_resulting_translation():
    assert word_to_write("Das Tier, weil es müde war.", "Die Straße, weil sie müde war.") == "sie"
    assert word_to_write("Das Tier.", "Das Tier.") is None
    before = "weil es müde war."
    for now, mark in (("weil sie müde war.", "right"), ("da es müde war.", "close"), (before, "wrong")):
        assert attempt("sie", before, now).mark == mark


def test_vote_offers_only_the_best_choices_in_their_original_order():
    choices = tuple("abcdefghij")
    worth = (0.0, 9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 6.0, 4.0, 5.0)
    found = answer_of_worth(choices, worth, "", worth).for_vote()
    assert found.question.choices == tuple("bdfhij") and len(found.question.choices) == MAX_VOTE_CHOICES
    assert found.question.choices[found.question.answer] == "b" and found.shares == found.question.worth
    assert answer_of_worth(("a", "b"), (1.0, 2.0), "").for_vote().shares == ()


def test_bet_is_dropped_when_the_sentence_changes_and_invalid_url_values_are_ignored():
    params = BetParams(page="decoding", answer="2")
    assert BetParams.from_address(params.to_address()) == params and params.on("decoding") == "2"
    assert params.on("translate") == "" and params.for_another_sentence() == BetParams()
    for page, answer in (("about", "0"), ("nonsense", "-1"), ("<b>", "1000")):
        assert BetParams.from_address({"bet_page": page, "bet_answer": answer}) == BetParams()
