"""Models for benchmarks: this project's model with random weights, and models of the same size from other libraries."""

from functools import cache

import torch
import torch.nn.functional as F
import transformers
from torch import Tensor, nn

from transformer.checkpoints.model_files import CONFIG
from transformer.config import TransformerConfig
from transformer.decoding.beam import beam_search
from transformer.decoding.constraints import Constraints
from transformer.decoding.greedy import greedy
from transformer.decoding.hypotheses import hypotheses
from transformer.model.fast.modules import speed_up
from transformer.model.sinusoids import sinusoids
from transformer.model.transformer import Transformer, build
from transformer.running.translator import MODEL
from transformer.text.tokenizer import END, PAD, START
from transformer.training.batching import Batch
from transformer.training.config import TrainConfig


def shape() -> TransformerConfig:
    return TransformerConfig.from_json((MODEL / CONFIG).read_text(encoding="utf-8"))


@cache
def random_model() -> Transformer:
    """Return a model of the shipped model's size with random weights, the same in every process."""
    torch.manual_seed(1)
    model = build(shape()).eval().requires_grad_(False)
    # Round to half precision, because checkpoints store half precision.
    for parameter in model.parameters():
        parameter.copy_(parameter.half())
    speed_up(model)
    return model


def marian(config: TransformerConfig) -> transformers.MarianMTModel:
    """Return a Hugging Face Marian model with random weights and the sizes in `config`."""
    return transformers.MarianMTModel(
        transformers.MarianConfig(
            vocab_size=config.source_vocabulary,
            d_model=config.d_model,
            encoder_layers=config.encoder_layers,
            decoder_layers=config.decoder_layers,
            encoder_attention_heads=config.heads,
            decoder_attention_heads=config.heads,
            encoder_ffn_dim=config.d_ff,
            decoder_ffn_dim=config.d_ff,
            activation_function=config.activation,
            scale_embedding=True,
            max_position_embeddings=config.max_positions,
            pad_token_id=PAD,
            eos_token_id=END,
            bos_token_id=START,
            decoder_start_token_id=START,
            forced_eos_token_id=None,
        )
    ).eval()


@torch.inference_mode()
def write(model: Transformer, sources: Tensor, *, beam: int, length: int) -> list[list[int]]:
    """Decode exactly `length` tokens for each of the sources [B, S] with this project; `beam=1` decodes greedily."""
    endless = Constraints(suppressed=frozenset({model.symbols.end}))
    cache = model.start_cache(model.encode(sources, None), None)
    if beam == 1:
        steps = list(greedy(model, cache, limit=length, constraints=endless))
        return torch.stack([step.predicted for step in steps], dim=1).tolist()
    steps = beam_search(model, cache, beam_size=beam, limit=length, constraints=endless)
    return [list(best.tokens) for best, *_ in hypotheses(steps, len(sources))]


class TorchPeer(nn.Module):
    """An encoder-decoder with the sizes in a `TrainConfig`, built from torch's own layers."""

    def __init__(self, vocabulary: int, config: TrainConfig, pad: int = PAD) -> None:
        super().__init__()
        self.pad, self.label_smoothing = pad, config.label_smoothing
        self.embedding = nn.Embedding(vocabulary, config.d_model)
        layer = nn.TransformerEncoderLayer(
            config.d_model, config.heads, config.d_ff, config.dropout, batch_first=True, norm_first=True
        )
        # The encoder that nn.Transformer builds by default would warn that nested tensors, an inference feature, do not
        # work with norm_first.
        encoder = nn.TransformerEncoder(layer, config.layers, nn.LayerNorm(config.d_model), enable_nested_tensor=False)
        self.transformer = nn.Transformer(
            config.d_model,
            config.heads,
            config.layers,
            config.layers,
            config.d_ff,
            config.dropout,
            custom_encoder=encoder,
            batch_first=True,
            norm_first=True,
        )
        self.generator = nn.Linear(config.d_model, vocabulary)
        self.generator.weight = self.embedding.weight
        nn.init.normal_(self.embedding.weight, std=config.d_model**-0.5)
        self.register_buffer("positions", torch.from_numpy(sinusoids(512, config.d_model)).float())

    def forward(self, batch: Batch) -> Tensor:
        """Return the mean loss, a scalar in nats per token."""
        source, target = (
            self.embedding(ids) * self.embedding.embedding_dim**0.5 + self.positions[: ids.shape[1]]
            for ids in (batch.source, batch.target)
        )
        ahead = nn.Transformer.generate_square_subsequent_mask(batch.target.shape[1], device=source.device).isinf()
        padding = batch.source == self.pad
        hidden = self.transformer(
            source,
            target,
            tgt_mask=ahead,
            src_key_padding_mask=padding,
            tgt_key_padding_mask=batch.target == self.pad,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        logits = self.generator(hidden).flatten(0, 1).float()
        return F.cross_entropy(
            logits, batch.predicted.flatten(), ignore_index=self.pad, label_smoothing=self.label_smoothing
        )
