"""Runs the decoder on a whole text in one pass (teacher forcing) and builds the trace."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from transformer.decoding.search import logit_lens
from transformer.decoding.step import entropy, top_candidates
from transformer.decoding.texts import shifted_right
from transformer.model.kv_cache import DecoderCache
from transformer.model.recorder import Recorder
from transformer.model.transformer import Transformer
from transformer.text.vocabulary import TextVocabulary
from transformer.values.interventions import Interventions
from transformer.values.kinds import Kind
from transformer.values.tokens import Token
from transformer.values.trace import DETAILS, HOOKED, STACKS, Trace
from transformer.values.translation import LogitLens

CANDIDATES = 10


@dataclass(frozen=True, eq=False)
class Reader:
    """A model with an encoded source, ready to run the decoder on target texts.

    Attributes:
        model: model in evaluation mode; call the methods under `torch.inference_mode()`.
        vocabulary: the model's vocabulary.
        text, tokens: source text and tokens; empty for a language model.
        cache: initial decoder cache from `Transformer.start_cache`.
        interventions: interventions to run the model with.
        record: recorder that contains the encoder's activations and collects the decoder's.
        version: model version, stored in the traces.
    """

    model: Transformer
    vocabulary: TextVocabulary
    text: str
    tokens: tuple[Token, ...]
    cache: DecoderCache
    interventions: Interventions
    record: Recorder
    version: str

    def read(self, target_text: str, predicted: tuple[Token, ...]) -> tuple[Trace, Tensor]:
        """Run the decoder on a target text, and return the trace and all log-probabilities.

        Args:
            target_text: target text.
            predicted: the target's T tokens, including any end symbol.

        Returns:
            The trace, and the log-probability of every vocabulary token at every step, nats, [T, V].
        """
        target = shifted_right(self.vocabulary, predicted)
        output, cache = self.model.decode_step(self._ids(target)[None], self.cache, record=self.record)  # [1, T, D]
        log_probs = self.model.logits(output, cache, record=self.record)[0].float().log_softmax(dim=-1)  # -> [T, V]
        taken = log_probs.gather(-1, self._ids(predicted)[:, None]).squeeze(-1)
        candidates = top_candidates(log_probs, CANDIDATES)
        target_length, source_length = len(target), len(self.tokens)
        visible = self.interventions.visible
        trace = Trace(
            source_text=self.text,
            target_text=target_text,
            source_tokens=self.tokens,
            target_tokens=target,
            predicted_tokens=predicted,
            complete=predicted[-1].role == "end",
            encoder=self._weights("encoder", source_length, source_length),
            decoder=self._weights("decoder", target_length, target_length),
            cross=self._weights("cross", target_length, source_length),
            encoder_mask=visible("encoder", source_length, source_length),
            decoder_mask=visible("decoder", target_length, target_length),
            cross_mask=visible("cross", target_length, source_length),
            log_probs=taken.cpu().numpy(),
            entropy=entropy(log_probs).cpu().numpy(),
            candidate_ids=candidates.ids.cpu().numpy(),
            candidate_log_probs=candidates.log_probs.cpu().numpy(),
            details=self._details(),
            interventions=self.interventions,
            model=self.version + (HOOKED if self.cache.edits.hooks else ""),
        )
        return trace, log_probs

    def logit_lens(self, predicted: tuple[Token, ...]) -> tuple[LogitLens, np.ndarray]:
        """Return every decoder layer's predictions, and each target token's rank in the last layer's predictions, [T].

        Call `read` first, with a recorder that keeps details.
        """
        # With N sub-layers per layer, the recorder contains 1 + N L residual streams. Select the L streams that follow
        # each layer's last sub-layer.
        parts = 3 if self.tokens else 2
        outputs = self.record.tensors["decoder.residual"][parts::parts]
        lens, ranks = logit_lens(self.model.decoder_norm, self.model.generator, outputs, self._ids(predicted))
        return lens, ranks.cpu().numpy()

    def _weights(self, kind: Kind, queries: int, keys: int) -> np.ndarray:
        """Return attention weights [L, H, queries, keys]; empty (0 queries or keys) for a kind that the model lacks."""
        if kind in self.model.config.kinds:
            return self.record.stacked(f"{kind}.weights")
        config = self.model.config
        return np.zeros((config.decoder_layers, config.heads, queries, keys), np.float32)

    def _details(self) -> dict[str, np.ndarray]:
        if not self.record.details:
            return {}
        kinds = self.model.config.kinds
        stacks = [stack for stack in STACKS if stack in kinds]
        return {
            **{f"{kind}_{name}": self.record.stacked(f"{kind}.{name}") for kind in kinds for name in DETAILS},
            **{
                f"{stack}_{name}": self.record.stacked(f"{stack}.{name}")
                for stack in stacks
                for name in ("residual", "feed_forward")
            },
        }

    def _ids(self, tokens: Sequence[Token]) -> Tensor:
        return torch.tensor([token.id for token in tokens], device=self.model.device)
