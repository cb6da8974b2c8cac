from dataclasses import replace

import numpy as np
import pytest
import torch

from pages.ui.reading.pairs import PAIRS
from tests.conftest import ONE_SHAPE
from tests.small_models import small
from transformer.ablation.patching import (
    Contrasts,
    DifferencesRun,
    GridRun,
    PatchingQuestion,
    PatchRun,
    grid_cells,
    influence_cone,
    partner_positions,
    patch_interventions,
    question_of,
    step_to_show,
    steps_of_changed_word,
    stream_changes,
)
from transformer.analysis.word_matching import matched_positions
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.errors import InterventionError
from transformer.model.transformer import build
from transformer.running.runs.trace import TraceRun
from transformer.running.translator import Translator
from transformer.values.interventions import Interventions
from transformer.values.patches import PATCH_SITES, has_heads, parse_patch, patch_name, stack_of

# Two sentences with the same tokens in different orders, so that every position has a counterpart.
TEXT, OTHER = "The old man reads a book.", "The old book reads a man."
TARGET = "Der alte Mann liest ein Buch."
# One patch per site, and one combination of patches at two sites.
PLACES = {site: {(site, 1, 2 if has_heads(site) else 0, 3): 3} for site in PATCH_SITES}
PLACES["together"] = {("encoder.outputs", 0, 1, 2): 2, ("decoder.residual", 1, 0, 4): 4}


def read(translator, text, interventions=None):
    changed = {} if interventions is None else {"interventions": interventions}
    return translator.trace(text, TARGET, details=True, **changed)


def identical(one, other):
    return replace(one, interventions=other.interventions).equals(other)


@ONE_SHAPE
def test_patching_a_sentence_into_itself_gives_bitwise_identical_output(shaped_translator):
    before = read(shaped_translator, TEXT)
    sites = {place: other for places in PLACES.values() for place, other in places.items()}
    assert identical(read(shaped_translator, TEXT, patch_interventions(sites, before)), before)


@pytest.mark.parametrize("name", PLACES)
def test_patch_changes_only_values_that_depend_on_the_patched_position(shaped_translator, name):
    before, other = read(shaped_translator, TEXT), read(shaped_translator, OTHER)
    interventions = patch_interventions(PLACES[name], other)
    moved = stream_changes(before, read(shaped_translator, TEXT, interventions))
    reached = influence_cone(
        interventions, shaped_translator.config, len(before.source_tokens), len(before.target_tokens)
    )
    for stack, change in moved.items():
        np.testing.assert_array_equal(change[~reached[stack]], 0.0)
    stack = stack_of(next(iter(PLACES[name]))[0])
    first = np.flatnonzero(reached[stack].any(axis=1))[0]
    assert moved[stack][first][reached[stack][first]].all()


@ONE_SHAPE
def test_patching_a_whole_layer_makes_later_layers_match_the_other_sentence(shaped_translator):
    other = read(shaped_translator, OTHER)
    encoder = {("encoder.residual", 1, 0, at): at for at in range(len(other.source_tokens))}
    patched = read(shaped_translator, TEXT, patch_interventions(encoder, other))
    np.testing.assert_array_equal(patched.encoder[1:], other.encoder[1:])
    np.testing.assert_array_equal(patched.details["encoder_residual"][2:], other.details["encoder_residual"][2:])
    np.testing.assert_array_equal(patched.log_probs, other.log_probs)


def test_patching_the_last_encoder_residual_patches_the_encoder_output(shaped_translator):
    before, other = read(shaped_translator, TEXT), read(shaped_translator, OTHER)
    depth = shaped_translator.config.encoder_layers
    patched = read(shaped_translator, TEXT, patch_interventions({("encoder.residual", depth, 0, 3): 3}, other))
    np.testing.assert_array_equal(patched.encoder, before.encoder)
    keys = [trace.details["cross_keys"] for trace in (patched, before, other)]
    np.testing.assert_allclose(keys[0][:, :, 3], keys[2][:, :, 3], atol=1e-6)
    np.testing.assert_array_equal(np.delete(keys[0], 3, axis=2), np.delete(keys[1], 3, axis=2))


@ONE_SHAPE
def test_token_by_token_decoding_applies_the_patches_of_every_step(shaped_translator):
    """Compares decoding with a cache to one pass over the whole translation."""
    other = read(shaped_translator, OTHER)
    interventions = patch_interventions(
        {place: at for places in PLACES.values() for place, at in places.items()}, other
    )
    free = shaped_translator.trace("A dog.", interventions=patch_interventions({("cross.outputs", 0, 1, 2): 3}, other))
    written = shaped_translator.translate_variants(TEXT, [interventions, Interventions()])
    alone = shaped_translator.translate(TEXT, interventions=interventions)
    assert written[0] == alone.tokens
    assert [token.id for token in free.predicted_tokens[:-1]] == free.candidate_ids[:-1, 0].tolist()


@pytest.fixture
def two_headed(tokenizer):
    """Return a model with two cross-attention heads, and a question that only the second head decides.

    The residual stream has one dimension for each of two words and one per position. The first head attends to a single
    position, but nothing uses its output. The second head attends to all positions equally and copies the two words.
    """
    texts = "I see a dog.", "I see a dig."
    ((one, other),) = {
        tuple(pair) for pair in zip(*map(tokenizer.encode_ids, texts), strict=True) if len(set(pair)) > 1
    }
    places = 32
    width, positions = 2 + places, slice(2, 2 + places)
    config = small(
        tokenizer.size,
        2 * width,
        2,
        4,
        (1, 1),
        positions="learned",
        max_positions=places,
        tied_embeddings="all",
        scale_embedding=False,
    )
    model = build(config)
    weights = {name: torch.full_like(each, name.endswith("norm.weight")) for name, each in model.named_parameters()}
    weights["source_embedding.weight"][[one, other], [0, 1]] = 1
    for side in ("source", "target"):
        weights[f"{side}_positions.table"][:, positions] = torch.eye(places)
    query, key, value = weights["decoder_layers.0.cross_attention.in_projection.weight"].chunk(3)
    query[positions, positions] = key[positions, positions] = 3 * torch.eye(places)
    for head in (0, width):
        value[head : head + 2, :2] = torch.eye(2)
    weights["decoder_layers.0.cross_attention.out_projection.weight"][:2, width : width + 2] = torch.eye(2)
    model.load_state_dict(weights, strict=False)
    translator = Translator(Checkpoint(model.eval().requires_grad_(False), tokenizer), device="cpu", version="known")
    step = tokenizer.encode_ids(texts[0]).index(one)
    return translator, PatchingQuestion(*texts, tuple(tokenizer.encode_ids(texts[0])), step, (one, other))


def test_patching_finds_the_decisive_head_although_its_attention_is_uniform(two_headed):
    translator, question = two_headed
    effects = {
        kind: translator.get(GridRun(question, f"{kind}.outputs")).effects for kind in ("encoder", "decoder", "cross")
    }
    np.testing.assert_allclose(effects["cross"], [[0, 1]], atol=1e-5)
    np.testing.assert_allclose([effects["encoder"], effects["decoder"]], 0, atol=1e-5)
    # The unused head puts nearly all attention on the decisive word; the decisive head attends to all words equally.
    trace = translator.get(question.runs[0])
    to_word = trace.cross[0, :, question.step, question.step]
    assert to_word[0] > 0.9 and to_word[1] == pytest.approx(1 / len(trace.source_tokens))


@ONE_SHAPE
def test_patching_grid_matches_single_patches(shaped_translator):
    other = read(shaped_translator, OTHER)
    ids = tuple(token.id for token in other.predicted_tokens)
    question = PatchingQuestion(TEXT, OTHER, ids, 3, (int(other.candidate_ids[3, 0]), int(other.candidate_ids[3, 1])))
    before = read(shaped_translator, TEXT)
    for site, cell in (("encoder.residual", (1, 2)), ("decoder.feed_forward", (0, 3)), ("cross.outputs", (1, 2))):
        found = shaped_translator.get(GridRun(question, site))
        cells = grid_cells(site, shaped_translator.config, partner_positions(site, before, other, 3))
        single = shaped_translator.get(PatchRun(question, tuple(cells[cell].items())))
        assert single.patched == pytest.approx(found.patched[cell], abs=1e-5)
        trace = read(shaped_translator, TEXT, patch_interventions(cells[cell], other))
        known = dict(zip(trace.candidate_ids[3].tolist(), trace.candidate_log_probs[3].tolist(), strict=True))
        if set(question.tokens) <= set(known):
            expected = known[question.tokens[0]] - known[question.tokens[1]]
            assert found.patched[cell] == pytest.approx(expected, abs=1e-4)


@ONE_SHAPE
def test_patching_the_whole_encoder_output_has_an_effect_of_one(shaped_translator):
    other = read(shaped_translator, OTHER)
    ids = tuple(token.id for token in other.predicted_tokens)
    question = PatchingQuestion(TEXT, OTHER, ids, 2, (ids[2], ids[3]))
    everything = tuple(
        (("encoder.residual", shaped_translator.config.encoder_layers, 0, at), at)
        for at in range(len(other.source_tokens))
    )
    found = shaped_translator.get(PatchRun(question, everything))
    assert found.patched == pytest.approx(found.other, abs=1e-5)
    back = shaped_translator.get(PatchRun(question.reversed, everything))
    assert (back.run, back.other) == pytest.approx((found.other, found.run), abs=1e-5)


def test_patching_effect_is_undefined_if_the_two_runs_hardly_differ():
    np.testing.assert_allclose(Contrasts(3.0, -1.0, np.array([3.0, -1.0, 1.0, 5.0])).effects, [0, 1, 0.5, -0.5])
    assert Contrasts(3.0, 2.6, np.array([3.0])).effects is None


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("I see a dog.", "I see a dig."), "all"),
        (("I see a dog.", "I see a very old man."), "I s e e a . </s>"),
        (("A dog.", "A dog."), "all"),
    ],
)
def test_unchanged_tokens_of_two_sentences_are_paired(tokenizer, texts, expected):
    sides = [tokenizer.tokens(tokenizer.encode_ids(text)) for text in texts]
    found = matched_positions(*sides, texts)
    if expected == "all":
        assert found == {at: at for at in range(len(sides[0]))}
    else:
        assert " ".join(sides[0][at].text.strip("▁") for at in found) == expected
        assert all(sides[0][at].id == sides[1][other].id for at, other in found.items())


def test_swapping_the_sentences_inverts_the_word_pairs(tokenizer):
    """If two words change places, only one of them can be paired, and either choice is correct."""
    texts = "I see a big old dog.", "I see a old big dog."
    sides = [tokenizer.tokens(tokenizer.encode_ids(text)) for text in texts]
    found, back = matched_positions(*sides, texts), matched_positions(*sides[::-1], texts[::-1])
    assert back == {other: one for one, other in found.items()} and found != back


def test_parsing_a_patch_name_restores_the_patched_positions():
    for place, other in (
        (("encoder.residual", 0, 0, 6), 6),
        (("cross.outputs", 3, 7, 9), 9),
        (("decoder.feed_forward", 5, 0, 2), 11),
        (("encoder.weights", 0, 0, 0), 0),
    ):
        assert parse_patch(patch_name(place, other)) == (place, other)
    assert patch_name(("cross.outputs", 3, 7, 9), 9) == "cross.outputs.4.8~10"
    assert patch_name(("encoder.residual", 3, 0, 6), 8) == "encoder.residual.3~7~9"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "cross.residual.1~2",
        "encoder.outputs.1~2",
        "encoder.residual.1.2~3",
        "cross.outputs.0.1~2",
        "cross.outputs.1.0~2",
        "decoder.feed_forward.0~1",
        "encoder.residual.3~0",
        "encoder.residual.3",
    ],
)
def test_invalid_patch_name_raises_an_error(name):
    with pytest.raises(InterventionError, match="is not a patch"):
        parse_patch(name)


@ONE_SHAPE
@pytest.mark.parametrize(
    ("patches", "message"),
    [
        ({("encoder.residual", 3, 0, 0): 0}, "no such layer or head"),
        ({("cross.outputs", 0, 3, 0): 0}, "no such layer or head"),
        ({("encoder.outputs", 0, 0, 99): 0}, r"the run has only \d+ encoder positions"),
        ({("decoder.outputs", 0, 0, 0): 99}, r"the sentence to copy from has only \d+ decoder positions"),
        ({("decoder.weights", 0, 0, 1): 2}, "only by a row of the same length"),
    ],
)
def test_patch_outside_the_model_or_sentence_raises_an_error(shaped_translator, patches, message):
    with pytest.raises(InterventionError, match=message):
        read(shaped_translator, TEXT, patch_interventions(patches, read(shaped_translator, OTHER)))


def test_invalid_patch_settings_raise_an_error(small_translator):
    place = ("encoder.residual", 0, 0, 0)
    with pytest.raises(InterventionError, match="another sentence to copy from"):
        Interventions(patches={place: 0})
    with pytest.raises(InterventionError, match="sites are"):
        Interventions(patches={("encoder.residual", 0, 1, 0): 0}, other=((1,), (1,)))
    unknown = Interventions(patches={place: 0}, other=((10**6,), (1,)))
    with pytest.raises(InterventionError, match="ids outside the vocabulary"):
        small_translator.trace("A dog.", interventions=unknown)
    assert Interventions(other=((1,), (1,))) == Interventions()


@pytest.mark.parametrize(
    ("pair", "changed", "opened"), [(PAIRS[0], ["müde"], "müde"), (PAIRS[2], ["der", "großen"], "Bank")]
)
def test_default_step_is_the_most_changed_step_that_does_not_translate_the_changed_word(shipped, pair, changed, opened):
    target = tuple(token.id for token in shipped.trace(pair.a).predicted_tokens)
    runs = [TraceRun(text, target, details=True) for text in (pair.a, pair.b)]
    a, b = map(shipped.get, runs)
    differences = shipped.get(DifferencesRun(*runs))
    for step, difference in enumerate(differences):
        found = shipped.get(PatchRun(question_of(a, b, step), ()))
        assert difference == pytest.approx(abs(found.other - found.run), abs=1e-3)
    words = [a.target_text[slice(*token.span)].strip() if token.span else "" for token in a.predicted_tokens]
    assert [words[at] for at in np.flatnonzero(steps_of_changed_word(a, b))] == changed
    assert words[step_to_show(a, b, differences)] == opened
