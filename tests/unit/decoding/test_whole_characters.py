import itertools
from functools import partial

import pytest
import torch

from tests.small_models import small
from transformer.decoding.beam import beam_search
from transformer.decoding.constraints import Constraints
from transformer.decoding.greedy import greedy, greedy_batch
from transformer.decoding.hypotheses import hypotheses
from transformer.decoding.sampling import sample
from transformer.decoding.search import search
from transformer.model.transformer import build
from transformer.text.tokenizer import PAD
from transformer.training.evaluate import translate_all
from transformer.values.decoding_settings import DecodingSettings

EMOJI = ["See you soon 👋", "Thanks a lot 😊", "lol that was so funny 😂😂", "I love you ❤️", "ok 👍 see u tmrw"]
METHODS = [
    DecodingSettings(),
    DecodingSettings("beam", beam_size=3),
    DecodingSettings("sample", seed=4),
    DecodingSettings("sample", seed=5, top_p=0.9, temperature=0.7),
]
ORDINARY = [
    "I have a dream.",
    "Where is my hat?",
    "The old man is reading a newspaper in the garden.",
    "We bought a new car.",
    "If it rains tomorrow, we will stay at home.",
]
LIMITS = [2, 3, 4, 5, 9, 14]


@pytest.fixture(scope="module")
def byte_model(tokenizer, small_config):
    """An untrained model whose output bias makes it predict byte tokens almost exclusively."""
    torch.manual_seed(3)
    config = small(tokenizer.size, 16, 4, 24, (1, 2))
    model = build(config).eval()
    with torch.no_grad():
        model.generator.bias[sorted(tokenizer.spelling.parts)] = 3.0
    return model


def written(way, model, rows, constraints, limit):
    source = torch.nn.utils.rnn.pad_sequence(list(map(torch.tensor, rows)), batch_first=True, padding_value=PAD)
    with torch.inference_mode():
        cache = model.start_cache(model.encode(source, source != PAD), source != PAD)
        steps = list(way(model, cache, limit=limit, constraints=constraints))
    if way.func is beam_search:
        return [each.tokens for found in hypotheses(steps, len(rows)) for each in found]
    return torch.stack([step.predicted for step in steps], dim=1).tolist()


@pytest.mark.parametrize(
    "way",
    [partial(greedy), partial(sample, seed=1), partial(sample, seed=2, top_k=9), partial(beam_search, beam_size=4)],
    ids=["greedy", "sample", "top-k", "beam"],
)
def test_every_search_method_writes_only_whole_characters(byte_model, tokenizer, sources, way):
    constraints, texts = Constraints(spelling=tokenizer.spelling), []
    for limit in LIMITS:
        texts += map(tokenizer.decode, written(way, byte_model, sources, constraints, limit))
    assert not [text for text in texts if "\ufffd" in text]
    assert [text for text in texts if not text.isascii()], "it does write bytes"
    free = written(way, byte_model, sources, Constraints(), max(LIMITS))
    assert any("\ufffd" in tokenizer.decode(tokens) for tokens in free), "as it would by itself"


def test_whole_character_decoding_of_a_batch_matches_decoding_of_single_sentences(byte_model, tokenizer, sources):
    constraints = Constraints(spelling=tokenizer.spelling)
    source = torch.nn.utils.rnn.pad_sequence(list(map(torch.tensor, sources)), batch_first=True, padding_value=PAD)
    with torch.inference_mode():
        cache = byte_model.start_cache(byte_model.encode(source, source != PAD), source != PAD)
        together = dict(greedy_batch(byte_model, cache, LIMITS, constraints=constraints))
    for number, (row, limit) in enumerate(zip(sources, LIMITS, strict=True)):
        (alone,) = written(partial(greedy), byte_model, [row], constraints, limit)
        assert together[number] == tuple(alone) and "\ufffd" not in tokenizer.decode(alone)


@pytest.mark.thorough
def test_shipped_model_writes_only_whole_characters(shipped):
    texts = [shipped.translate(text, settings).text for text in EMOJI for settings in METHODS]
    traced = {}
    shipped.trace_together(EMOJI, traced.__setitem__)
    texts += [traced[number].target_text for number in range(len(EMOJI))]
    for beam in (1, 3):
        texts += translate_all(shipped._model, shipped.tokenizer, EMOJI, "cpu", beam=beam)
    assert len(texts) == 7 * len(EMOJI) and not [text for text in texts if "\ufffd" in text]


@pytest.mark.thorough
def test_whole_character_rule_does_not_change_results_without_broken_characters(shipped):
    """With and without the rule, results without broken characters are bitwise identical, even when sampling."""
    vocabulary, differ = shipped.tokenizer, 0
    for settings, text in itertools.product(METHODS, ORDINARY):
        tokens = vocabulary.encode_ids(text)
        source = torch.tensor([tokens])
        found = []
        for constraints in (Constraints(spelling=vocabulary.spelling), Constraints()):
            with torch.inference_mode():
                cache = shipped._model.start_cache(shipped._model.encode(source, None), None)
                found.append(search(shipped._model, cache, settings, constraints, limit=30, capture=False))
        ours, free = (vocabulary.decode(each.tokens) for each in found)
        if "\ufffd" not in free:
            first, second = ((each.tokens, each.log_prob) for each in found)
            assert first == second, text
        differ += ours != free
    assert differ < len(ORDINARY)
