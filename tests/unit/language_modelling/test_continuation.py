import pytest
import torch

from transformer.errors import TextError
from transformer.language_modelling.continuation import continue_text
from transformer.language_modelling.scoring import score_text
from transformer.values.cancellation import cancellable
from transformer.values.decoding_settings import DecodingSettings

TEXT = "The cat"
METHODS = [
    DecodingSettings(method="greedy"),
    DecodingSettings(method="beam", beam_size=3),
    DecodingSettings(method="sample", temperature=0.8, top_k=20, top_p=0.9, seed=4),
]


def ids(tokens):
    return [token.id for token in tokens]


def test_greedy_continuation_matches_hugging_face(huggingface, model, tokenizer):
    ours = continue_text(model, tokenizer, TEXT, DecodingSettings(), limit=12)
    read = torch.tensor([[0, *ids(ours.beginning)]])
    theirs = huggingface.generate(
        read, attention_mask=torch.ones_like(read), max_new_tokens=12, do_sample=False, pad_token_id=0
    )
    assert ids(ours.tokens) == theirs[0, read.shape[1] :].tolist()


@pytest.mark.parametrize("settings", METHODS, ids=lambda settings: settings.method)
def test_score_of_a_continuation_is_the_sum_of_its_token_log_probabilities(model, tokenizer, settings):
    found = continue_text(model, tokenizer, TEXT, settings, limit=10)
    read = [0, *ids(found.beginning), *ids(found.tokens)]
    with torch.inference_mode():
        log_probs = model(None, torch.tensor([read[:-1]]))[0].log_softmax(dim=-1)
    expected = sum(log_probs[at - 1, read[at]].item() for at in range(len(found.beginning) + 1, len(read)))
    assert found.log_prob == pytest.approx(expected, abs=1e-4)
    assert found.text.startswith(TEXT)
    assert ids(continue_text(model, tokenizer, TEXT, settings, limit=10).tokens) == ids(found.tokens)


def test_wide_beam_finds_the_most_probable_continuation(model, tokenizer):
    """Scores all 25 pairs of the five allowed tokens to find the most probable one."""
    from transformer.decoding.constraints import Constraints

    few = [5, 40, 77, 120, 300]
    constraints = Constraints(suppressed=frozenset(range(model.config.target_vocabulary)) - set(few))
    found = continue_text(
        model, tokenizer, TEXT, DecodingSettings(method="beam", beam_size=5), limit=2, constraints=constraints
    )
    beginning = [0, *ids(found.beginning)]
    with torch.inference_mode():
        first = model(None, torch.tensor([beginning]))[0, -1].log_softmax(dim=-1)
        scores = {
            (one, two): (first[one] + second[two]).item()
            for one in few
            for second in [model(None, torch.tensor([[*beginning, one]]))[0, -1].log_softmax(dim=-1)]
            for two in few
        }
    assert tuple(ids(found.tokens)) == max(scores, key=scores.__getitem__)


def test_sampled_continuation_depends_on_the_seed_and_top_k(model, tokenizer):
    drawn = {
        tuple(ids(continue_text(model, tokenizer, TEXT, DecodingSettings(method="sample", seed=seed), limit=8).tokens))
        for seed in range(5)
    }
    assert len(drawn) > 1
    one = continue_text(model, tokenizer, TEXT, DecodingSettings(method="sample", top_k=1), limit=8)
    assert ids(one.tokens) == ids(continue_text(model, tokenizer, TEXT, DecodingSettings(), limit=8).tokens)


def test_beam_tree_of_a_continuation_has_attention_to_all_earlier_tokens(model, tokenizer):
    found = continue_text(model, tokenizer, TEXT, DecodingSettings(method="beam"), limit=4, capture=True)
    assert found.tree is not None
    # The columns are the start symbol, the given text and one more token per step.
    assert [rows.shape[-1] for rows in found.tree.decoder] == [
        len(found.beginning) + 1 + step for step in range(len(found.tree.decoder))
    ]
    assert all(rows.shape[-1] == 0 for rows in found.tree.cross)


def test_continuation_ends_at_a_forced_end_symbol(model, tokenizer):
    from transformer.decoding.constraints import Constraints

    found = continue_text(model, tokenizer, TEXT, DecodingSettings(), constraints=Constraints(prefix=(0,)))
    assert found.complete
    assert [token.role for token in found.tokens] == ["end"]
    assert found.text == TEXT


def test_empty_text_is_continued_up_to_the_limit(model, tokenizer):
    found = continue_text(model, tokenizer, "", DecodingSettings(), limit=3)
    assert found.beginning == ()
    assert score_text(model, tokenizer, "x").tokens
    assert 1 <= len(found.tokens) <= 3


def test_continuation_stops_at_the_last_learned_position(model, tokenizer):
    found = continue_text(model, tokenizer, "1 " * 31, DecodingSettings(), limit=40)
    assert len(found.tokens) <= 2
    with pytest.raises(TextError, match="shorten the beginning"):
        continue_text(model, tokenizer, "1 " * 32, DecodingSettings())
    with pytest.raises(ValueError, match="limit must be at least 1"):
        continue_text(model, tokenizer, TEXT, DecodingSettings(), limit=0)


@pytest.mark.parametrize("settings", METHODS, ids=lambda settings: settings.method)
def test_continuation_can_be_cancelled_after_any_token(model, tokenizer, settings):
    left = iter([False, False, True])

    def check():
        if next(left):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), cancellable(check):
        continue_text(model, tokenizer, TEXT, settings, limit=12)
    assert next(left, None) is None, "it was asked after every token"


@pytest.mark.parametrize("settings", METHODS, ids=lambda settings: settings.method)
def test_continuation_ends_with_a_whole_character(model, tokenizer, settings):
    """Some tokens are only parts of characters, and an untrained model may predict any token."""
    for text in ("The cat", "Größe ", "🙂"):
        for limit in range(1, 9):
            found = continue_text(model, tokenizer, text, settings, limit=limit)
            assert found.text.startswith(text) and "\ufffd" not in found.text
