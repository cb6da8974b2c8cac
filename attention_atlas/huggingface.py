"""Traces the attention of a Hugging Face `transformers` model on text or sound."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from transformer.errors import AttentionError
from transformer.values.foreign_attention import is_causal, weights_of
from transformer.values.foreign_tokens import LANGUAGE, frames, tokens_of
from transformer.values.tokens import Role, Token
from transformer.values.trace import Trace

# Default maximum number of tokens that a model writes if no target is given.
MAX_NEW_TOKENS = 128
EAGER_KERNEL = "eager"


def from_huggingface(model: Any, tokenizer: Any, text: Any, target: str | None = None, **generation: Any) -> Trace:
    """Run a `transformers` model on text or sound, and return a trace of the model's attention.

    During the run, dropout is off and the attention kernels return weights. Afterwards, the model's settings are
    restored.

    Args:
        model: model from `transformers`: an encoder, a decoder, or an encoder-decoder.
        tokenizer: the model's tokenizer; for sound, the model's processor.
        text: text to read; for sound, samples at the feature extractor's sampling rate.
        target: text that the decoder of an encoder-decoder reads; if None, the model generates it.
        generation: arguments of `model.generate` if the model writes the target. By default, decoding is greedy and
            ends after at most MAX_NEW_TOKENS tokens.

    Returns:
        Trace of the run. Words come from the tokenizer's offsets or, without offsets, from the spelling of the tokens.
        Slow tokenizers and text that the model wrote have no offsets. For sound, encoder attention is omitted, because
        half a minute of sound has two million weights per head.

    Raises:
        AttentionError: the model returns no attention, or sound was given without the processor. The message says what
            to do.
    """
    import torch

    sound = not isinstance(text, str)
    inputs, (read, tokens) = _audio_features(tokenizer, text) if sound else _read(tokenizer, text)
    words = getattr(tokenizer, "tokenizer", tokenizer)
    inputs = {name: tensor.to(model.device) for name, tensor in inputs.items()}
    model_name = str(getattr(model.config, "name_or_path", "") or type(model).__name__)
    with torch.no_grad(), _returning_weights(model):
        if not model.config.is_encoder_decoder:
            attentions = model(**inputs, output_attentions=True).attentions
            causal = attentions is not None and is_causal(weights_of(attentions, "model's"))
            if causal:
                return Trace.from_attention(
                    decoder=attentions, target_tokens=tokens, target_text=read, model=model_name
                )
            return Trace.from_attention(encoder=attentions, source_tokens=tokens, source_text=read, model=model_name)
        if target is None:
            settings = {"max_new_tokens": MAX_NEW_TOKENS, "num_beams": 1, "do_sample": False, **generation}
            generated = model.generate(**inputs, **settings)[0].tolist()
            target_text, target_tokens = _tokens(words, _without_padding(generated, model.config), first="start")
        else:
            labels, (target_text, read_tokens) = _read(words, target, as_target=True)
            shifted = getattr(model, "prepare_decoder_input_ids_from_labels", None)
            start = (
                [model.generation_config.decoder_start_token_id]
                if shifted is None
                else (shifted(labels=labels["input_ids"])[0, :1].tolist())
            )
            target_tokens = (*_tokens(words, start, first="start")[1], *read_tokens)
        ids = torch.tensor([[token.id for token in target_tokens[:-1]]], device=model.device)
        output = model(**inputs, decoder_input_ids=ids, output_attentions=True)
    return Trace.from_attention(
        encoder=None if sound else output.encoder_attentions,
        decoder=output.decoder_attentions,
        cross=output.cross_attentions,
        source_tokens=tokens,
        target_tokens=target_tokens,
        source_text=read,
        target_text=target_text,
        model=model_name,
    )


@contextmanager
def _returning_weights(model: Any) -> Iterator[None]:
    """Switch dropout off and make attention kernels return weights. Restore the settings at the end."""
    training, kernels = model.training, model.config._attn_implementation
    model.eval()
    try:
        if kernels != EAGER_KERNEL and hasattr(model, "set_attn_implementation"):
            model.set_attn_implementation(EAGER_KERNEL)
        yield
    finally:
        if kernels != EAGER_KERNEL and hasattr(model, "set_attn_implementation"):
            model.set_attn_implementation(kernels)
        model.train(training)


# A text and its tokens.
Tokenized = tuple[str, tuple[Token, ...]]


def _read(tokenizer: Any, text: str, *, as_target: bool = False) -> tuple[Mapping[str, Any], Tokenized]:
    """Tokenize a text; return input tensors for the model, and the text with its tokens."""
    arguments = {"text_target": text} if as_target else {"text": text}
    encoded = tokenizer(**arguments, return_tensors="pt", return_offsets_mapping=tokenizer.is_fast)
    offsets = encoded.pop("offset_mapping")[0].tolist() if tokenizer.is_fast else None
    ids = encoded["input_ids"][0].tolist()
    tokens = tokenizer.convert_ids_to_tokens(ids)
    roles = [_role(tokenizer, id, token) for id, token in zip(ids, tokens, strict=True)]
    return encoded, tokens_of(tokens, text=text if offsets else None, offsets=offsets, ids=ids, roles=roles)


def _audio_features(processor: Any, samples: Any) -> tuple[Mapping[str, Any], Tokenized]:
    """Return input features for the model, and one token per encoder frame, which covers two feature frames."""
    extractor = getattr(processor, "feature_extractor", None)
    if extractor is None:
        raise AttentionError(
            "The text is not a string. To show audio, pass the model's processor instead of its tokenizer."
        )
    inputs = extractor(samples, sampling_rate=extractor.sampling_rate, return_tensors="pt")
    count = inputs["input_features"].shape[-1] // 2
    return inputs, ("", frames(count, 2 * extractor.hop_length / extractor.sampling_rate))


def _tokens(tokenizer: Any, ids: Sequence[int], *, first: Role = "") -> Tokenized:
    """Return the text that token ids spell, and the tokens. An id that the tokenizer lacks is spelled as its number."""
    spellings = zip(ids, tokenizer.convert_ids_to_tokens(ids), strict=True)
    tokens = [f"<{id}>" if token is None else token for id, token in spellings]
    roles = [_role(tokenizer, id, token) for id, token in zip(ids, tokens, strict=True)]
    return tokens_of(tokens, ids=ids, roles=roles, first=first)


def _role(tokenizer: Any, id: int, token: str) -> Role:
    symbols: tuple[tuple[Role, tuple[str, ...]], ...] = (
        ("unknown", ("unk",)),
        ("end", ("eos", "sep")),
        ("start", ("bos", "cls")),
        ("padding", ("pad",)),
    )
    for role, names in symbols:
        if id in [getattr(tokenizer, f"{name}_token_id", None) for name in names]:
            return role
    if LANGUAGE.fullmatch(token):
        return "language"
    return "symbol" if id in tokenizer.all_special_ids and token != tokenizer.mask_token else ""


def _without_padding(ids: list[int], config: Any) -> list[int]:
    """Return the generated ids without trailing padding.

    The start symbol is kept, even if it is the padding symbol.
    """
    while len(ids) > 2 and ids[-1] == config.pad_token_id:
        ids = ids[:-1]
    return ids
