"""Tests of attention from other programs: every accepted format, and the message about invalid attention."""

import io
import json

import numpy as np
import pytest
import torch

from transformer.analysis.heads.metrics import head_metrics
from transformer.analysis.heads.names import head_names
from transformer.analysis.words import word_groups
from transformer.errors import AttentionError
from transformer.values.foreign_tokens import frames, tokens_of
from transformer.values.trace import Trace

LAYERS, HEADS = 3, 2
SOURCE = ["▁The", "▁old", "▁man", "</s>"]
TARGET = ["<pad>", "▁Der", "▁alte", "▁Mann", "</s>"]


def random_rows(*shape, mask=None, seed=0):
    scores = np.random.default_rng(seed).normal(size=shape)
    weights = np.exp(np.where(True if mask is None else mask, scores, -np.inf))
    return (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)


ENCODER = random_rows(LAYERS, HEADS, 4, 4)
DECODER = random_rows(LAYERS, HEADS, 5, 5, mask=np.tri(5, dtype=bool))
CROSS = random_rows(LAYERS, HEADS, 5, 4)


class Jax:
    """An array that numpy can read only through the `__array__` method, like JAX's arrays."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array if dtype is None else self.array.astype(dtype)


FORMS = {
    "array": lambda weights: weights,
    "layers": list,
    "batch of one": lambda weights: tuple(layer[None] for layer in weights),
    "stacked batch": lambda weights: weights[:, None],
    "torch": lambda weights: tuple(torch.tensor(layer[None], requires_grad=True) for layer in weights),
    "half": lambda weights: weights.astype(np.float16),
    "bfloat16": lambda weights: [torch.tensor(layer[None]).bfloat16() for layer in weights],
    "jax": lambda weights: [Jax(layer[None]) for layer in weights],
    "lists": lambda weights: weights.tolist(),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_input_format_gives_the_same_attention(form):
    given = FORMS[form]
    trace = Trace.from_attention(
        encoder=given(ENCODER), decoder=given(DECODER), cross=given(CROSS), source_tokens=SOURCE, target_tokens=TARGET
    )
    exact = 4e-3 if form in ("half", "bfloat16") else 0
    for kind, weights in {"encoder": ENCODER, "decoder": DECODER, "cross": CROSS}.items():
        np.testing.assert_allclose(trace.attention(kind), weights, atol=exact)
    assert (trace.source_text, trace.target_text) == ("The old man", "Der alte Mann")
    assert [token.role for token in trace.target_tokens] == ["start", "", "", "", "end"]
    assert trace.decoder_mask.tolist() == np.tri(5, dtype=bool).tolist() and trace.encoder_mask.all()
    assert trace.predicted_tokens == () and trace.log_probs.size == 0, "nobody knows"


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("beams", [1, 3])
def test_attention_from_generate_steps_is_concatenated(cached, beams):
    """A beam may move to another row of the batch at each step."""
    rows = np.random.default_rng(1).integers(beams, size=5)

    def steps(weights, columns):
        made = []
        for step in range(5):
            first = step if cached else 0
            each = random_rows(LAYERS, beams, HEADS, step + 1 - first, columns or step + 1, seed=step)
            each[:, rows[step]] = weights[:, :, first : step + 1, : columns or step + 1]
            made.append(tuple(torch.tensor(layer) for layer in each))
        return tuple(made)

    found = Trace.from_attention(
        decoder=steps(DECODER, 0),
        cross=steps(CROSS, 4),
        source_tokens=SOURCE,
        target_tokens=[*TARGET, "<pad>"],
        beam_indices=None if beams == 1 else torch.tensor([[*rows, -1]]),
    )
    np.testing.assert_array_equal(found.decoder, DECODER)
    np.testing.assert_array_equal(found.cross, CROSS)
    assert found.kinds == ("decoder", "cross") and len(found.predicted_tokens) == 5


def test_first_generation_step_contains_the_prompt():
    prompt = tuple(torch.tensor(layer[None, :, :3, :3]) for layer in DECODER)
    more = [tuple(torch.tensor(layer[None, :, row : row + 1, : row + 1]) for layer in DECODER) for row in (3, 4)]
    found = Trace.from_attention(decoder=(prompt, *more), target_tokens=["ĠA", "Ġsmall", "Ġcat", "Ġsl", "eeps", "."])
    np.testing.assert_array_equal(found.decoder, DECODER)
    assert found.kinds == found.stacks == ("decoder",) and found.text == "A small cat sleeps."
    assert [token.text for token in found.predicted_tokens] == ["▁small", "▁cat", "▁sl", "eeps", "."]


@pytest.mark.parametrize("left", [True, False])
def test_padding_in_foreign_attention_is_removed(left):
    pad = (2, 0) if left else (0, 2)
    padded = np.pad(ENCODER, [(0, 0), (0, 0), pad, pad])[:, None].repeat(2, axis=1)
    mask = np.pad(np.ones((2, 4), int), [(0, 0), pad])
    tokens = [*["<pad>"] * pad[0], *SOURCE, *["<pad>"] * pad[1]]
    found = Trace.from_attention(encoder=padded, source_tokens=tokens, source_mask=mask, item=1)
    np.testing.assert_array_equal(found.encoder, ENCODER)
    assert [token.text for token in found.source_tokens] == SOURCE


WRONG = {
    "fused kernels": (dict(encoder=(None, None)), 'attn_implementation="eager"'),
    "nothing": (dict(), 'attn_implementation="eager"'),
    "no layers": (dict(encoder=()), 'attn_implementation="eager"'),
    "scores": (dict(encoder=ENCODER * 9 - 4), "pass the softmax output"),
    "dropout": (dict(encoder=ENCODER * 0.9), "model.eval()"),
    "swapped": (dict(encoder=ENCODER.swapaxes(-1, -2)), "swap its last two axes"),
    "not finite": (dict(encoder=np.full_like(ENCODER, np.nan)), "not finite"),
    "too few tokens": (dict(encoder=ENCODER, source_tokens=SOURCE[:3]), "pass one token for each"),
    "too many tokens": (dict(encoder=ENCODER, source_tokens=[*SOURCE, "x"]), "did not read"),
    "two runs": (dict(encoder=ENCODER, cross=CROSS[..., :3]), "arrays from one run"),
    "a batch": (dict(encoder=ENCODER[:, None].repeat(2, axis=1)), "item=0"),
    "no such text": (dict(encoder=ENCODER[:, None], item=3), "no item 3"),
    "words": (dict(encoder="attention"), "not an array"),
    "a model's outputs": (dict(encoder={"attentions": ENCODER}), "pass the model's outputs.attentions"),
    "swapped sides": (dict(cross=CROSS.swapaxes(-1, -2)), "swap its last two axes"),
    "heads last": (dict(encoder=np.moveaxis(ENCODER, 1, -1)), "pass [heads, rows, columns]"),
    "cross as self-attention": (dict(encoder=CROSS), "as cross-attention"),
    "no rows": (dict(encoder=ENCODER[:, :, :0, :0], source_tokens=[]), "at least one head and one token"),
    "ids": (dict(encoder=ENCODER, source_tokens=np.arange(4)), "convert_ids_to_tokens"),
    "unread target": (dict(decoder=DECODER[..., :2, :2]), "did not read"),
    "mask of words": (
        dict(encoder=ENCODER, source_mask=["a"] * 4),
        "source mask is not an array of numbers but a list.",
    ),
    "all is padding": (dict(encoder=ENCODER, source_mask=[0] * 4), "mask hides every token"),
    "too few offsets": (dict(encoder=ENCODER, source_text="The", source_offsets=[(0, 3)]), "1 offsets"),
    "ragged layers": (dict(encoder=[ENCODER[0], ENCODER[1][:1]]), "different shapes"),
    "a single row": (dict(encoder=[ENCODER[0, 0, 0]]), "has 1 axes"),
}


@pytest.mark.parametrize("case", WRONG)
def test_invalid_attention_is_reported_in_one_sentence(case):
    given, says = WRONG[case]
    with pytest.raises(AttentionError) as error:
        Trace.from_attention(**{"source_tokens": SOURCE, "target_tokens": TARGET, **given})
    assert says in str(error.value) and str(error.value).endswith(".")


def test_missing_token_ids_prevent_head_names_based_on_rare_tokens():
    """Without ids, every token would count as the rarest."""
    trace = Trace.from_attention(encoder=np.full((1, 1, 4, 4), 0.25), source_tokens=SOURCE)
    metrics = head_metrics(trace, "encoder", None)
    assert "strongest_rarest" not in metrics.values and head_names(metrics) == (((),),)


def test_foreign_attention_survives_saving_and_loading():
    trace = Trace.from_attention(cross=CROSS, source_tokens=SOURCE, target_tokens=TARGET, model="mine")
    file = io.BytesIO()
    trace.to_npz(file)
    file.seek(0)
    assert Trace.from_npz(file).equals(trace) and Trace.from_json(trace.to_json()).equals(trace)
    assert json.loads(trace.to_json())["model"] == "mine" and trace.kinds == ("cross",)
    assert trace.to_bertviz().keys() == {"cross_attention", "encoder_tokens", "decoder_tokens"}


# Tokens and words of a text, for each convention by which vocabularies spell tokens.
SPELLINGS = {
    "sentencepiece": (["▁Don", "'", "t", "▁shout", "!", "</s>"], ["Don't", "shout", "!"]),
    "byte-level": (["Don", "'t", "Ġshout", "!", "ĊĠ", "Now"], ["Don't", "shout", "!", "Now"]),
    "wordpiece": (["[CLS]", "un", "##like", "##ly", "words", ".", "[SEP]"], ["unlikely", "words", "."]),
    "end of word": (["un", "likely</w>", "words</w>", ".</w>"], ["unlikely", "words", "."]),
    "decoded": (["un", "likely", " words", "."], ["unlikely", "words", "."]),
    "words": (["I", "dream"], ["I", "dream"]),
    "bytes": (["▁", "<0xE2>", "<0x82>", "<0xAC>", "5", "▁more"], ["€5", "more"]),
    "bytes of a byte-level": (["âĤ", "¬", "5", "Ġmore"], ["€5", "more"]),
    "no spaces": (["▁これは", "Py", "thon", "3.5", "です", "。"], ["これは", "Python3.5", "です", "。"]),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_word_boundaries_are_found_from_token_spelling(spelling):
    spellings, words = SPELLINGS[spelling]
    text, tokens = tokens_of(spellings)
    groups = [[tokens[at] for at in group] for group in word_groups(tokens, text) if not tokens[group[0]].special]
    found = [text[group[0].span[0] : group[-1].span[1]] for group in groups]
    assert [word for word in found if word] == words


def test_character_offsets_locate_words_whose_tokens_differ_from_the_text():
    """The tokens of a lower-casing tokenizer differ from the typed text."""
    text, tokens = tokens_of(
        ["[CLS]", "ele", "##ve", "!", "[SEP]"], text="Élève !", offsets=[(0, 0), (0, 3), (3, 5), (6, 7), (0, 0)]
    )
    assert [None if token.span is None else text[slice(*token.span)] for token in tokens] == [
        None,
        "Élè",
        "ve",
        "!",
        None,
    ]
    with pytest.raises(AttentionError, match="1 offsets"):
        tokens_of(["a", "b"], text="a b", offsets=[(0, 1)])


def test_columns_of_audio_attention_are_labelled_with_times():
    cross = random_rows(1, 1, 2, 4)
    tokens = ["<|startoftranscript|>", "▁Hi"]
    trace = Trace.from_attention(cross=cross, source_tokens=frames(4, 0.02), target_tokens=tokens)
    assert [token.text for token in trace.key_tokens("cross")] == ["0.00", "0.02", "0.04", "0.06"]
    assert not any(token.special for token in trace.source_tokens)
    assert not np.isnan(head_metrics(trace, "cross", None).values["confidence"]).any()
