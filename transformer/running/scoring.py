"""Scores one translation under many interventions, or estimates from a gradient how much each head matters.

Letters: N variants, S source tokens, T target tokens, L layers, H heads, V vocabulary entries.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from transformer.config import TransformerConfig
from transformer.decoding.head_replacements import HeadReplacements
from transformer.decoding.step import token_rank
from transformer.model.edits import Edits, Replacement, edits_of
from transformer.model.fast.malloc import return_holes
from transformer.model.transformer import Transformer
from transformer.values.cancellation import check_cancelled, step_done
from transformer.values.head_means import HeadMeans
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.kinds import KINDS, Kind
from transformer.values.trace import Trace

# Maximum number of source or target positions per batch: enough to use all cores, and few enough to limit the memory
# for distributions over the vocabulary.
BATCH_POSITIONS = 512


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of one translation (teacher forcing), without interventions and under N variants.

    Attributes:
        baseline: log-probability of each token without interventions, nats [T].
        log_probs: log-probability of each token in each variant, nats [N, T].
        kl: Kullback-Leibler divergence KL(p || q), where p is the distribution without interventions and q the
            variant's, nats [N, T].
        tvd: total variation distance between p and q, 1/2 sum |p - q|, 0 to 1 [N, T].
        ranks: rank of each token in the variant's distribution [N, T]; 1 is the most likely.
    """

    baseline: np.ndarray
    log_probs: np.ndarray
    kl: np.ndarray
    tvd: np.ndarray
    ranks: np.ndarray

    def __post_init__(self) -> None:
        for part in fields(self):
            getattr(self, part.name).setflags(write=False)

    @property
    def change(self) -> np.ndarray:
        """Each variant's change in the translation's log-probability, float64 nats [N]; negative means less likely."""
        return (self.log_probs.astype(np.float64) - self.baseline).sum(axis=1)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two traces of one translation, and its scores under N variants. Each variant is a set of interventions.

    Attributes:
        before: trace without interventions.
        after: trace under the first variant.
        scores: scores of all variants.
    """

    before: Trace
    after: Trace
    scores: Scores


def score(
    model: Transformer,
    source: Tensor,
    target: Tensor,
    predicted: Tensor,
    variants: Sequence[Interventions],
    means: HeadMeans | None = None,
    known: Sequence[Tensor] = (),
) -> Scores:
    """Score the model's predictions of a translation, without interventions and under every variant.

    Args:
        model: model in evaluation mode; call this function under `torch.inference_mode()`.
        source: source token ids [1, S].
        target: decoder input ids, [1, T].
        predicted: ids of the tokens to predict, [T].
        variants: N interventions, already checked against the model and the source.
        means: the heads' mean outputs, needed for the modes "mean" and "resample".
        known: tensors of log-probabilities [T, V] that have already been computed: one without interventions, then one
            for each of the first few variants. All tensors but the first are overwritten.
    """
    longest = max(source.shape[1], target.shape[1])
    replacements = HeadReplacements(model, means, source[0].tolist(), longest)
    baseline = (
        known[0]
        if known
        else log_probs_of(model, source, target, Edits(), torch.zeros(1, dtype=torch.long), Edits())[0]
    )
    probs = baseline.exp()
    # Clamp the log-probabilities, because zero times minus infinity would be NaN for tokens with probability 0.
    own = (probs * baseline.clamp_min(torch.finfo(baseline.dtype).min)).sum(dim=-1)
    chunks: list[tuple[Tensor, ...]] = []
    read = (log_probs[None] for log_probs in known[1:])
    for found in chain(read, _in_batches(model, source, target, variants[len(known[1:]) :], replacements)):
        taken = found.gather(-1, predicted[None, :, None].expand(len(found), -1, 1)).squeeze(-1)
        cross = torch.einsum("tv,ntv->nt", probs, found.clamp_min(torch.finfo(found.dtype).min))
        ranks = token_rank(found, taken)
        # Compute in place, because these are the largest tensors of the run.
        tvd = found.exp_().sub_(probs).abs_().sum(dim=-1) / 2
        chunks.append((taken, (own - cross).clamp_min(0), tvd, ranks))
        check_cancelled()
    columns = zip(*chunks, strict=True) if chunks else ([probs.new_empty(0, len(predicted))] for _ in range(4))
    parts = [torch.cat(list(column)).cpu().numpy() for column in columns]
    return Scores(baseline.gather(-1, predicted[:, None]).squeeze(-1).cpu().numpy(), *parts)


def contrasts(
    model: Transformer, source: Tensor, target: Tensor, tokens: tuple[int, int], variants: Sequence[Interventions]
) -> np.ndarray:
    """Return, for each variant, the logit difference between two candidates for the next token, in nats, [N].

    The logit difference equals the difference between the log-probabilities.

    Args:
        model, source, variants: as in `score`.
        target: ids of the start symbol and the prefix, [1, T].
        tokens: ids of the two candidates; the second one's logit is subtracted.
    """
    replacements = HeadReplacements(model, None, source[0].tolist())
    found = []
    for log_probs in _in_batches(model, source, target, variants, replacements, last=True):
        found.append(log_probs[:, 0, tokens[0]] - log_probs[:, 0, tokens[1]])
        step_done(sum(map(len, found)) / len(variants))
    return torch.cat(found).cpu().numpy()


def _in_batches(
    model: Transformer,
    source: Tensor,
    target: Tensor,
    variants: Sequence[Interventions],
    replacements: HeadReplacements,
    *,
    last: bool = False,
) -> Iterator[Tensor]:
    """Yield the result of `log_probs_of` for each batch of variants."""
    batch_size = max(1, BATCH_POSITIONS // max(source.shape[1], target.shape[1]))
    for start in range(0, len(variants), batch_size):
        if start:
            return_holes()
        edits = _shared_encoder(variants[start : start + batch_size], model.config, replacements, source.device)
        yield log_probs_of(model, source, target, *edits, last=last)


def log_probs_of(
    model: Transformer,
    source: Tensor,
    target: Tensor,
    encoder_edits: Edits,
    encoder_indices: Tensor,
    edits: Edits,
    *,
    last: bool = False,
) -> Tensor:
    """Return the log-probabilities [N, T, V] of the predictions for one decoder input under N variants of the edits.

    Args:
        model, source, target: as in `score`.
        encoder_edits: edits for the encoder's batch. That batch may be smaller than the decoder's batch, because
            variants with equal changes to the encoder share one row.
        encoder_indices: for each row of the decoder's batch, the index of its row in the encoder's batch, [N].
        edits: edits for the decoder's batch.
        last: whether to return only the prediction after the last token, [N, 1, V].
    """
    runs = max(1, len(encoder_edits.interventions))
    memory = model.encode(source.expand(runs, -1), None, edits=encoder_edits)
    cache = model.start_cache(memory, None)
    if len(encoder_indices) != runs or edits.interventions:
        cache = replace(cache.select(encoder_indices.to(source.device)), edits=edits)
    output, cache = model.decode_step(target.expand(len(encoder_indices), -1), cache)
    return model.logits(output[:, -1:] if last else output, cache).float().log_softmax(dim=-1)


def gate_gradients(model: Transformer, source: Tensor, target: Tensor, predicted: Tensor) -> dict[Kind, Tensor]:
    """Return the gradient of a translation's log-probability with respect to each gate, nats [L, H] by attention kind.

    A head's gate is a factor that multiplies the head's output; all gates are 1. The negative gradient is a first-order
    estimate of the effect of removing the head. Source: Michel et al. 2019, "Are Sixteen Heads Really Better than
    One?", equation 2, here for one sentence and without the absolute value.

    Args: as in `score`.
    """
    edits = open_gates(model.config, next(model.parameters()).dtype, source.device)
    with torch.inference_mode(False), torch.enable_grad():
        # Tensors created in inference mode cannot be used in autograd.
        source, target, predicted = source.clone(), target.clone(), predicted.clone()
        memory = model.encode(source, None, edits=edits)
        log_probs = model.generator(model.decode(target, memory, None, edits=edits)[0]).log_softmax(dim=-1)
        total = log_probs.gather(-1, predicted[:, None]).sum()
        gradients = torch.autograd.grad(total, [edits.gates[kind] for kind in KINDS])
    return {kind: gradient[0] for kind, gradient in zip(KINDS, gradients, strict=True)}


def open_gates(config: TransformerConfig, dtype: torch.dtype, device: torch.device) -> Edits:
    """Return edits for a batch of one text; all gates are 1 and require gradients."""
    layers = {"encoder": config.encoder_layers, "decoder": config.decoder_layers, "cross": config.decoder_layers}
    with torch.inference_mode(False):
        gates: dict[Kind, Tensor] = {
            kind: torch.ones(1, layers[kind], config.heads, dtype=dtype, device=device, requires_grad=True)
            for kind in KINDS
        }
    return Edits((AS_TRAINED,), gates=gates)


def _shared_encoder(
    variants: Sequence[Interventions], config: TransformerConfig, replacement: Replacement, device: torch.device
) -> tuple[Edits, Tensor, Edits]:
    """Return the arguments `encoder_edits`, `encoder_indices` and `edits` of `log_probs_of`.

    Variants with equal changes to the encoder share one row of the encoder's batch.
    """
    parts = [variant.encoder_part() for variant in variants]
    runs = list(dict.fromkeys(parts))
    number = {part: index for index, part in enumerate(runs)}
    indices = torch.tensor([number[part] for part in parts])
    return edits_of(runs, config, replacement, device), indices, edits_of(variants, config, replacement, device)
