import numpy as np
import pytest
import torch

from tests.conftest import ONE_SHAPE
from transformer.attribution.attribution import Target, every_position
from transformer.attribution.erasure import erased_log_probs
from transformer.attribution.objective import token_ids
from transformer.values.interventions import AS_TRAINED, Interventions


def test_erasing_nothing_reproduces_the_original_run(shaped_translator, shaped_trace):
    found = erased_log_probs(shaped_translator._model, shaped_trace, every_position(shaped_trace), [AS_TRAINED])
    np.testing.assert_allclose(found[0], shaped_trace.log_probs, atol=2e-5)


def test_erasing_a_source_token_has_the_same_effect_as_masking_that_token(shaped_translator, shaped_trace):
    source, prefix = token_ids(shaped_trace, torch.device("cpu"))
    visible = np.ones((4, len(source)), dtype=bool)
    visible[0, 2] = visible[1, [0, 5]] = visible[3, -1] = False
    taken = [token.id for token in shaped_trace.predicted_tokens]
    with torch.inference_mode():
        logits = shaped_translator._model(
            source.expand(4, -1), prefix.expand(4, -1), source_mask=torch.from_numpy(visible)
        )
    expected = logits.log_softmax(dim=-1)[:, np.arange(len(taken)), taken]
    variants = [Interventions(hidden_source=np.flatnonzero(~row).tolist()) for row in visible]
    found = erased_log_probs(shaped_translator._model, shaped_trace, every_position(shaped_trace), variants)
    np.testing.assert_allclose(found, expected.numpy(), atol=2e-5)


def test_erasing_tokens_gives_the_probabilities_of_a_run_that_hides_the_tokens(shaped_translator, shaped_trace):
    variants = [
        AS_TRAINED,
        Interventions(hidden_source=[2]),
        Interventions(hidden_target=[1, 3]),
        Interventions(hidden_source=[0, 4, 5], hidden_target=[2]),
        Interventions(hidden_source=[2]),
        Interventions(hidden_source=range(len(shaped_trace.source_tokens))),
    ]
    taken = [token.id for token in shaped_trace.predicted_tokens]
    expected = shaped_translator.score(shaped_trace.source_text, taken, variants).log_probs
    found = erased_log_probs(shaped_translator._model, shaped_trace, every_position(shaped_trace), variants)
    np.testing.assert_allclose(found, expected, atol=2e-6)


def test_erasure_scores_match_captum_feature_ablation(shaped_translator, shaped_trace):
    """Captum's inputs are masks of visible tokens; ablating an entry hides its token."""
    from captum.attr import FeatureAblation

    target, model = [Target((4,))], shaped_translator._model
    sources, prefixes = len(shaped_trace.source_tokens), len(shaped_trace.target_tokens)

    def log_prob(source, prefix):
        return torch.from_numpy(
            erased_log_probs(
                model,
                shaped_trace,
                target,
                [
                    Interventions(hidden_source=hidden(left), hidden_target=hidden(read))
                    for left, read in zip(source, prefix, strict=True)
                ],
            )[:, 0]
        )

    def hidden(mask):
        return torch.nonzero(mask == 0)[:, 0].tolist()

    source, prefix = FeatureAblation(log_prob).attribute(
        (torch.ones(1, sources), torch.ones(1, prefixes)), perturbations_per_eval=1
    )
    found = shaped_translator.attribute(shaped_trace, "erasure", target)
    np.testing.assert_allclose(found.source, source.numpy(), atol=1e-4)
    np.testing.assert_allclose(found.prefix[0, :4], prefix[0, :4].numpy(), atol=1e-4)


@ONE_SHAPE
def test_erasure_never_erases_the_last_token_that_a_decoding_step_reads(shaped_translator, shaped_trace):
    found = shaped_translator.attribute(shaped_trace, "erasure", [Target((2,)), Target((2, 4))])
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(found.prefix[0])), [2])
    assert (found.prefix[0, 3:] == 0).all() and (found.prefix[0, :2] != 0).all()
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(found.prefix[1])), [4])
    assert np.isnan(found.error()).all()


@ONE_SHAPE
def test_erasing_a_word_erases_all_its_tokens(shaped_translator, shaped_trace):
    target = [Target((5,))]
    words = shaped_translator.attribute(shaped_trace, "erasure", target, words=True)
    group = max(words.source_groups, key=len)
    assert len(group) > 1
    without = [AS_TRAINED, Interventions(hidden_source=group)]
    log_probs = erased_log_probs(shaped_translator._model, shaped_trace, target, without)[:, 0]
    column = words.source_groups.index(group)
    assert words.source[0, column] == pytest.approx(log_probs[0] - log_probs[1], abs=1e-5)
    tokens = shaped_translator.attribute(shaped_trace, "erasure", target)
    assert words.source[0, column] != pytest.approx(tokens.source[0, list(group)].sum(), abs=1e-4)


def test_attribution_rejects_the_trace_of_an_edited_model(small_translator):
    trace = small_translator.trace("The dog sleeps.", details=True, interventions=Interventions(positions=False))
    for method in ("erasure", "frozen_gradient", "integrated_gradients"):
        with pytest.raises(ValueError, match="make the trace without interventions"):
            small_translator.attribute(trace, method)


@ONE_SHAPE
def test_attribution_of_a_nonexistent_position_raises_an_error(shaped_translator, shaped_trace):
    with pytest.raises(ValueError, match="no token 99"):
        shaped_translator.attribute(shaped_trace, "erasure", [Target((99,))])
