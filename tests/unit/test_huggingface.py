"""Tests of attention from small random Hugging Face models, each with a tokenizer of its family's type."""

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from attention_atlas import from_huggingface
from tests.conftest import SENTENCES
from transformer.analysis.words import word_groups
from transformer.errors import AttentionError

TEXT, WRITTEN = "The old man didn't sleep.", "Der alte Mann schlief nicht."
WORDS = ["The", "old", "man", "didn't", "sleep", "."]
SYMBOLS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "deu_Latn", "<|notimestamps|>"]
SIZE = 320
SMALL = dict(
    vocab_size=SIZE,
    hidden_size=16,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=24,
    pad_token_id=1,
    bos_token_id=0,
    eos_token_id=2,
)
GROUPED = dict(SMALL, num_key_value_heads=2, head_dim=4)
PAIR = dict(
    vocab_size=SIZE,
    d_model=16,
    encoder_layers=2,
    decoder_layers=2,
    encoder_attention_heads=4,
    decoder_attention_heads=4,
    encoder_ffn_dim=24,
    decoder_ffn_dim=24,
    pad_token_id=1,
    bos_token_id=0,
    eos_token_id=2,
    decoder_start_token_id=2,
    forced_eos_token_id=None,
    max_position_embeddings=64,
)


def tokenizer_of(spelling, before=(), after=("</s>",)):
    """Return a tokenizer trained on a few sentences.

    Args:
        spelling: convention for spaces and bytes in the tokens.
        before, after: special tokens around a text.
    """
    model, split, decoder, trainer = {
        "bytes": (
            models.BPE(),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
            decoders.ByteLevel(),
            trainers.BpeTrainer(
                initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                vocab_size=SIZE,
                special_tokens=SYMBOLS,
                show_progress=False,
            ),
        ),
        "WordPiece": (
            models.WordPiece(unk_token="<unk>"),
            pre_tokenizers.BertPreTokenizer(),
            decoders.WordPiece(),
            trainers.WordPieceTrainer(vocab_size=150, special_tokens=SYMBOLS, show_progress=False),
        ),
        "unigram": (
            models.Unigram(),
            pre_tokenizers.Metaspace(),
            decoders.Metaspace(),
            trainers.UnigramTrainer(vocab_size=150, special_tokens=SYMBOLS, unk_token="<unk>", show_progress=False),
        ),
    }[spelling]
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer, tokenizer.decoder = split, decoder
    if spelling == "WordPiece":
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.train_from_iterator([*SENTENCES, TEXT, WRITTEN], trainer)
    around = " ".join([*before, "$A", *after])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=around, special_tokens=[(each, SYMBOLS.index(each)) for each in (*before, *after)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token="<mask>",
        extra_special_tokens=["deu_Latn", "<|notimestamps|>"],
    )


ONE_STACK = {
    "Bert": ("encoder", SMALL, ("WordPiece", ["<s>"])),
    "Roberta": ("encoder", SMALL, ("bytes", ["<s>"])),
    "GPT2": ("decoder", dict(SMALL, n_embd=16, n_layer=2, n_head=4), ("bytes", [], [])),
    "Llama": ("decoder", GROUPED, ("bytes", ["<s>"], [])),
    "Qwen2": ("decoder", GROUPED, ("bytes", [], [])),
    "Gemma": ("decoder", GROUPED, ("unigram", ["<s>"], [])),
}
TWO_STACKS = {
    "T5": (
        dict(SMALL, d_model=16, d_kv=4, num_layers=2, num_heads=4, d_ff=24, decoder_start_token_id=1),
        "unigram",
        [],
    ),
    "Bart": (PAIR, "bytes", ["<s>"]),
    "MBart": (PAIR, "unigram", ["deu_Latn"]),
    "M2M100": (PAIR, "unigram", ["deu_Latn"]),
    "Marian": (dict(PAIR, decoder_start_token_id=1), "unigram", []),
}


def made(name, config):
    torch.manual_seed(0)
    return getattr(transformers, name)(config)


def words_of(tokens, text):
    groups = [[tokens[at] for at in group] for group in word_groups(tokens, text) if not tokens[group[0]].special]
    return [text[group[0].span[0] : group[-1].span[1]] for group in groups]


@pytest.mark.parametrize("family", ONE_STACK)
def test_trace_of_a_single_stack_model_matches_hugging_face_attention(family):
    kind, settings, tokenizer = ONE_STACK[family]
    model = made(f"{family}Model", getattr(transformers, f"{family}Config")(**settings)).train()
    words = tokenizer_of(*tokenizer)
    kernels = model.config._attn_implementation
    trace = from_huggingface(model, words, TEXT)
    assert model.training and model.config._attn_implementation == kernels, "left as it was"
    assert trace.kinds == (kind,) and trace.attention(kind).shape[:2] == (2, 4)
    tokens = trace.query_tokens(kind)
    # BERT's tokenizer splits at every punctuation mark, but the trace keeps the words of the text.
    assert words_of(tokens, TEXT) == WORDS
    model.eval()
    model.set_attn_implementation("eager")
    expected = model(**words(TEXT, return_tensors="pt"), output_attentions=True).attentions
    np.testing.assert_array_equal(trace.attention(kind), torch.cat(expected).detach().numpy())


@pytest.mark.parametrize("family", TWO_STACKS)
@pytest.mark.parametrize("given", [True, False])
def test_trace_of_an_encoder_decoder_model_matches_hugging_face_attention(family, given):
    settings, spelling, before = TWO_STACKS[family]
    head = "MarianMTModel" if family == "Marian" else f"{family}ForConditionalGeneration"
    model = made(head, getattr(transformers, f"{family}Config")(**settings)).eval()
    words = tokenizer_of(spelling, before)
    trace = from_huggingface(model, words, TEXT, WRITTEN if given else None, max_new_tokens=5)
    assert trace.kinds == ("encoder", "decoder", "cross")
    assert words_of(trace.source_tokens, trace.source_text) == WORDS
    assert trace.target_tokens[0].role == "start" and trace.target_tokens[1:] == trace.predicted_tokens[:-1]
    if given:
        assert words_of(trace.target_tokens, trace.target_text) == ["Der", "alte", "Mann", "schlief", "nicht", "."]
    model.set_attn_implementation("eager")
    ids = torch.tensor([[token.id for token in trace.target_tokens]])
    expected = model(**words(TEXT, return_tensors="pt"), decoder_input_ids=ids, output_attentions=True)
    np.testing.assert_array_equal(trace.cross, torch.cat(expected.cross_attentions).detach().numpy())
    if before == ["deu_Latn"]:
        assert trace.source_tokens[0].role == "language"


class Processor:
    """A stand-in for `WhisperProcessor`: the real class accepts only Whisper's tokenizer, and its files are not
    available here.
    """

    def __init__(self, feature_extractor, tokenizer):
        self.feature_extractor, self.tokenizer = feature_extractor, tokenizer


def test_whisper_attention_is_labelled_in_seconds():
    config = transformers.WhisperConfig(
        **dict(
            PAIR,
            max_source_positions=50,
            max_target_positions=32,
            num_mel_bins=8,
            decoder_start_token_id=0,
            suppress_tokens=None,
            begin_suppress_tokens=None,
        )
    )
    model = made("WhisperForConditionalGeneration", config).eval()
    extractor = transformers.WhisperFeatureExtractor(feature_size=8, chunk_length=1)
    sound = np.sin(np.arange(16_000) / 9).astype(np.float32)
    processor = Processor(extractor, tokenizer_of("bytes", ["<s>", "<|notimestamps|>"]))
    trace = from_huggingface(model, processor, sound, TEXT)
    assert trace.kinds == ("decoder", "cross") and trace.cross.shape[3] == 50
    assert [token.text for token in trace.source_tokens[:3]] == ["0.00", "0.02", "0.04"]
    assert [token.role for token in trace.target_tokens[:3]] == ["start", "start", "symbol"]
    with pytest.raises(AttentionError, match="processor"):
        from_huggingface(model, processor.tokenizer, sound, TEXT)
