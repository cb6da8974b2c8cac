import numpy as np
import pytest

from tests.conftest import ONE_SHAPE
from transformer.ablation.importance import MeasuredImportance
from transformer.attribution.agreement import agreement, chance_deviation, kendall_tau
from transformer.attribution.attribution import Attribution, Target
from transformer.attribution.deletion import best_first, deletion_curves
from transformer.attribution.erasure import erased_log_probs
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.kinds import Kind


def scores_of(method, scores):
    groups = tuple((column,) for column in range(len(scores)))
    return Attribution(
        method, (Target((0,)),), np.array([scores]), np.zeros((1, 1)), groups, ((0,),), np.array([np.nan])
    )


def additive(masks):
    return masks @ np.array([3.0, 2.0, 1.0, 0.0])


def test_kendall_tau_matches_a_hand_computed_case():
    assert kendall_tau(np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.4, 0.1, 0.35, 0.15])) == pytest.approx(1 / 3)


def test_rank_correlation_matches_a_hand_computed_case():
    """Spearman's correlation compares estimated with measured head importance."""
    ranked: dict[Kind, list[float]] = {"encoder": [0.5, 0.3], "decoder": [0.15], "cross": [0.05]}
    other: dict[Kind, list[float]] = {"encoder": [0.4, 0.1], "decoder": [0.35], "cross": [0.15]}
    one, two = ({kind: np.array([values]) for kind, values in each.items()} for each in (ranked, other))
    assert MeasuredImportance("zero", one, two, 0.0, {}).agreement == pytest.approx(0.4)


def test_kendall_tau_accounts_for_ties():
    # One of the three pairs is tied in one ranking, so tau is 2 / sqrt(2 * 3).
    assert kendall_tau(np.array([1.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0])) == pytest.approx(2 / np.sqrt(6))
    assert np.isnan(kendall_tau(np.ones(3), np.arange(3.0)))


@pytest.mark.parametrize(("tokens", "deviation"), [(5, 0.408), (8, 0.289), (12, 0.221), (20, 0.162), (40, 0.110)])
def test_standard_deviation_of_tau_matches_known_values(tokens, deviation):
    assert chance_deviation(tokens) == pytest.approx(deviation, abs=5e-4)


def test_tau_of_one_half_is_not_significant_with_eight_words():
    generator = np.random.default_rng(1)
    found = agreement([scores_of(name, generator.random(8)) for name in ("weights", "erasure")], columns=range(8))
    assert found.chance == pytest.approx(0.57, abs=5e-3)


def test_standard_deviation_of_tau_matches_random_rankings():
    generator = np.random.default_rng(3)
    taus = [kendall_tau(generator.random(8), generator.random(8)) for _ in range(500)]
    assert np.std(taus) == pytest.approx(chance_deviation(8), abs=0.02)


def test_excluded_tokens_do_not_affect_the_agreement_of_two_methods():
    one, other = scores_of("weights", [0.5, 0.3, 0.2, 0.9]), scores_of("erasure", [2.0, 1.0, -1.0, -5.0])
    found = agreement([one, other], columns=[0, 1, 2])
    np.testing.assert_allclose(found.tau, 1)
    assert found.same_first.all() and found.methods == ("weights", "erasure")
    # With three tokens, a perfect tau occurs by chance too often to be significant.
    assert found.chance > 1 and not found.above_chance.any()
    everything = agreement([one, other], columns=range(4))
    assert not everything.same_first[0, 1] and everything.tau[0, 1] == pytest.approx(0)
    with pytest.raises(ValueError, match="at least two"):
        agreement([one, other], columns=[1])


def test_deletion_curves_of_an_additive_score_match_hand_computed_values():
    found = deletion_curves(additive, np.array([3.0, 2.0, 1.0, 0.0]), range(4), draws=3, seed=1)
    np.testing.assert_allclose(found.best_first, [6, 3, 1, 0, 0])
    np.testing.assert_allclose(found.worst_first, [6, 6, 5, 3, 0])
    assert found.random.shape == (3, 5) and (found.random[:, 0] == 6).all() and (found.random[:, -1] == 0).all()
    assert found.gap == pytest.approx((3 + 6 + 5 + 3 - (3 + 3 + 1)) / 4)
    assert (found.below_random >= 0).all()
    again = deletion_curves(additive, np.array([3.0, 2.0, 1.0, 0.0]), range(4), draws=3, seed=1)
    np.testing.assert_array_equal(found.random, again.random)


def test_deletion_curve_never_deletes_columns_outside_the_given_list():
    seen = []

    def measure(masks):
        seen.append(masks)
        return masks.sum(axis=1).astype(float)

    deletion_curves(measure, np.array([1.0, 5.0, 3.0]), columns=[0, 2], draws=1)
    assert seen[0][:, 1].all() and len(seen) == 1
    np.testing.assert_array_equal(best_first(np.array([1.0, 5.0, 1.0]), [2, 0, 1]), [1, 0, 2])


def test_deleting_the_most_important_words_first_lowers_the_score_most(next_copier):
    trace = next_copier.trace("The dog and the cat")
    target = [Target((3,))]
    found = next_copier.attribute(trace, "erasure", target)
    curves = next_copier.deletion_curves(trace, found, range(len(trace.source_tokens) - 1))
    assert curves.best_first[1] < curves.best_first[0] - 1
    assert curves.gap > 0 and (curves.below_random > -1e-6).all()


@ONE_SHAPE
def test_deletion_removes_all_tokens_of_a_word(shaped_translator, shaped_trace):
    target = Target((5,))
    found = shaped_translator.attribute(shaped_trace, "norms", [Target((0,)), target], words=True)
    words = range(len(found.source_groups) - 1)
    curves = shaped_translator.deletion_curves(shaped_trace, found, words, target=1)
    first = Interventions(hidden_source=found.source_groups[best_first(found.source[1], words)[0]])
    expected = erased_log_probs(shaped_translator._model, shaped_trace, [target], [AS_TRAINED, first])[:, 0]
    np.testing.assert_allclose(curves.best_first[:2], expected, atol=1e-5)
    np.testing.assert_allclose(curves.random[:, -1], curves.best_first[-1], atol=1e-5)
