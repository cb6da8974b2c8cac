import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.conftest import ONE_SHAPE
from transformer.attribution.attribution import Target, every_position, whole_sentence
from transformer.attribution.frozen import FrozenFunctions
from transformer.attribution.frozen_gradient import REMAINDERS
from transformer.attribution.integrated_gradients import TOLERANCE, integrate
from transformer.attribution.objective import embed, objective, token_ids

SENTENCES = Path(__file__).parents[3] / "assets" / "sentences.txt"


def logits_of(translator, trace):
    source, prefix = token_ids(trace, torch.device("cpu"))
    with torch.inference_mode():
        return translator._model(source[None], prefix[None])[0].double().numpy()


def test_gradient_terms_add_up_to_the_logit(shaped_translator, shaped_trace):
    """Covers pre-norm and post-norm, all activations, tied and untied embeddings, and models without an output bias."""
    targets = every_position(shaped_trace)
    found = shaped_translator.attribute(shaped_trace, "frozen_gradient", targets)
    taken = [token.id for token in shaped_trace.predicted_tokens]
    logits = logits_of(shaped_translator, shaped_trace)
    np.testing.assert_allclose(found.total, logits[np.arange(len(taken)), taken], atol=1e-4)
    assert tuple(found.remainders) == REMAINDERS
    assert found.error().max() < 1e-4
    assert abs(found.remainders["biases"]).min() > 1e-3


def test_doubling_a_token_embedding_in_a_frozen_run_adds_its_gradient_term_to_the_logit(
    shaped_translator, shaped_trace, monkeypatch
):
    """Detached tensors keep their recorded values, so the rest of the frozen run is linear in the embeddings."""
    target, tokens = Target((2,)), len(shaped_trace.source_tokens)
    found = shaped_translator.attribute(shaped_trace, "frozen_gradient", [target])
    model = shaped_translator._model
    source, prefix = embed(model, shaped_trace, [target])

    def logit(column=None):
        factors = torch.ones(1, tokens, 1)
        if column is not None:
            factors[0, column] = 2
        with FrozenFunctions(torch.ones(1, 1, 1)):
            hidden = model.decode(prefix[None], model.encode((source * factors).requires_grad_(), None))
        return objective(model, hidden, shaped_trace, [target], log_probs=False)[0].item()

    observed, detach = [], torch.Tensor.detach
    with monkeypatch.context() as patched:
        patched.setattr(torch.Tensor, "detach", lambda tensor: observed.append(detach(tensor)) or observed[-1])
        whole = logit()
    assert whole == pytest.approx(found.total[0], abs=1e-4)
    for column in range(tokens):
        again = iter(observed)
        with monkeypatch.context() as patched:
            patched.setattr(torch.Tensor, "detach", lambda tensor, again=again: next(again))
            doubled = logit(column)
        assert doubled - whole == pytest.approx(found.source[0, column], abs=1e-4)


@pytest.mark.parametrize("count", [8, pytest.param(100, marks=pytest.mark.thorough)])
def test_gradient_terms_add_up_to_the_logit_for_many_sentences(shipped, count):
    generator = random.Random(14)
    for text in generator.sample(SENTENCES.read_text(encoding="utf-8").splitlines(), count):
        # The source also serves as the target, which saves decoding.
        trace = shipped.trace(text, text)
        position = generator.randrange(len(trace.predicted_tokens))
        found = shipped.attribute(trace, "frozen_gradient", [Target((position,))])
        assert found.error()[0] < 1e-4, text


@ONE_SHAPE
def test_attribution_of_several_positions_is_the_sum_of_their_attributions(shaped_translator, shaped_trace):
    for method in ("frozen_gradient", "erasure"):
        each = shaped_translator.attribute(shaped_trace, method)
        whole = shaped_translator.attribute(shaped_trace, method, [whole_sentence(shaped_trace), Target((2, 3))])
        np.testing.assert_allclose(whole.source[0], each.source.sum(axis=0), atol=1e-4)
        np.testing.assert_allclose(whole.source[1], each.source[[2, 3]].sum(axis=0), atol=1e-4)


@ONE_SHAPE
def test_contrast_attribution_adds_up_to_the_difference_of_two_logits(shaped_translator, shaped_trace):
    other = int(shaped_trace.candidate_ids[3, 4])
    logits = logits_of(shaped_translator, shaped_trace)
    taken = shaped_trace.predicted_tokens[3].id
    target = [Target((3,), against=(other,))]
    found = shaped_translator.attribute(shaped_trace, "frozen_gradient", target)
    assert found.total[0] == pytest.approx(logits[3, taken] - logits[3, other], abs=1e-4)
    assert found.error()[0] < 1e-4


@ONE_SHAPE
@pytest.mark.parametrize("method", ["frozen_gradient", "integrated_gradients", "erasure"])
def test_swapping_the_explained_and_the_contrast_token_negates_the_scores(shaped_translator, shaped_trace, method):
    taken, other = shaped_trace.predicted_tokens[3].id, int(shaped_trace.candidate_ids[3, 4])
    swapped = list(shaped_trace.predicted_tokens)
    swapped[3] = replace(swapped[3], id=other)
    found = shaped_translator.attribute(shaped_trace, method, [Target((3,), against=(other,))])
    opposite = shaped_translator.attribute(
        replace(shaped_trace, predicted_tokens=tuple(swapped)), method, [Target((3,), against=(taken,))]
    )
    assert abs(found.source).max() > 1e-3
    np.testing.assert_allclose(found.source, -opposite.source, atol=1e-5)
    np.testing.assert_allclose(found.total, -opposite.total, atol=1e-5)


@ONE_SHAPE
def test_word_score_is_the_sum_of_its_token_scores(shaped_translator, shaped_trace):
    tokens = shaped_translator.attribute(shaped_trace, "frozen_gradient")
    words = shaped_translator.attribute(shaped_trace, "frozen_gradient", words=True)
    assert words.source.shape[1] < tokens.source.shape[1]
    np.testing.assert_allclose(words.error(), tokens.error(), atol=1e-9)
    group = max(words.source_groups, key=len)
    column = words.source_groups.index(group)
    np.testing.assert_allclose(words.source[:, column], tokens.source[:, list(group)].sum(axis=1))


def test_integrated_gradients_match_a_hand_computed_case():
    """The function relu(relu(x1) - 1 - relu(x2)) at (3, 1) is from captum's tests."""
    found = integrate(
        lambda a, b: torch.relu(torch.relu(a) - 1 - torch.relu(b)),
        [torch.tensor(3.0), torch.tensor(1.0)],
        steps=2000,
        batch=500,
    )
    np.testing.assert_allclose([term.item() for term in found], [1.5, -0.5], atol=1e-3)


def test_integral_refined_from_fewer_steps_matches_an_integral_computed_at_once():
    inputs = [torch.linspace(-1, 2, 5)]
    coarse = integrate(lambda x: x.exp().sum(dim=1), inputs, steps=8, batch=3)
    fine = integrate(lambda x: x.exp().sum(dim=1), inputs, steps=16, batch=5, coarser=coarse)
    at_once = integrate(lambda x: x.exp().sum(dim=1), inputs, steps=16, batch=16)
    np.testing.assert_allclose(fine[0], at_once[0], atol=1e-6)
    np.testing.assert_allclose(
        integrate(lambda x: x.exp().sum(dim=1), inputs, steps=1000, batch=500)[0], inputs[0].exp() - 1, atol=1e-4
    )


def test_integrated_gradients_match_captum(shaped_translator, shaped_trace):
    from captum.attr import IntegratedGradients

    model, target = shaped_translator._model, Target((4,))
    source, prefix = embed(model, shaped_trace, [target])

    def log_prob(x, y):
        hidden = model.decode(y, model.encode(x, None))
        return objective(model, hidden, shaped_trace, [target], log_probs=True)

    expected = IntegratedGradients(log_prob).attribute(
        (source[None], prefix[None]), n_steps=400, method="gausslegendre"
    )
    found = integrate(log_prob, (source, prefix), steps=400, batch=100)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours.sum(dim=-1).numpy(), theirs[0].detach().sum(dim=-1).numpy(), atol=2e-2)
        np.testing.assert_allclose(ours.numpy(), theirs[0].detach().numpy(), atol=5e-3)


@ONE_SHAPE
def test_integrated_gradients_report_their_completeness_error(shaped_translator, shaped_trace):
    found = shaped_translator.attribute(shaped_trace, "integrated_gradients")
    np.testing.assert_allclose(found.error(), abs(found.source.sum(axis=1) + found.prefix.sum(axis=1) - found.total))
    assert (found.error() <= TOLERANCE * np.maximum(abs(found.total), 1)).all()
    later = np.triu_indices(len(found.targets), k=1)
    assert (found.prefix[later] == 0).all()


@pytest.mark.thorough
def test_concurrent_gradient_computations_are_independent(shipped):
    traces = [shipped.trace(text) for text in ("I have a dream.", "The dog sleeps.", "She reads a book.")]
    expected = [shipped.attribute(trace, "frozen_gradient").source for trace in traces]
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda trace: shipped.attribute(trace, "frozen_gradient").source, traces * 3))
    for index, source in enumerate(found):
        np.testing.assert_allclose(source, expected[index % 3], atol=1e-4)
