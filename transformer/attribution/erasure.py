"""Erasure: measures how the prediction changes when a token is hidden.

Source: Li, Monroe and Jurafsky 2016, "Understanding Neural Networks through Representation Erasure". Here, a hidden
token stays in the input, but no other token can attend to it in any layer. Positions therefore stay the same, and the
model reads only real tokens.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import torch

from transformer.attribution.attribution import Attribution, Target, TracedRun
from transformer.attribution.objective import objective, token_ids, tokens_to_read
from transformer.model.edits import edits_of
from transformer.model.transformer import Transformer
from transformer.values.cancellation import check_cancelled
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.trace import Trace

# Maximum number of source and target tokens in one batch.
BATCH_TOKENS = 2048


def erasure(run: TracedRun, targets: Sequence[Target]) -> Attribution:
    """Measure by how many nats each target's log-probability falls when a token group is erased.

    The decoder still reads the same prefix (teacher forcing). A decoding step always sees its own input token. So a
    group that begins with a target's last input token cannot be erased for that target, and its score is NaN. Later
    groups are not read and score 0.
    """
    variants = [AS_TRAINED]
    source_groups, prefix_groups = run.source_groups, run.prefix_groups
    variants += [Interventions(hidden_source=group) for group in source_groups]
    variants += [Interventions(hidden_target=group) for group in prefix_groups]
    log_probs = erased_log_probs(run.model, run.trace, targets, variants)
    scores = log_probs[0] - log_probs[1:]
    source, prefix = scores[: len(source_groups)].T.copy(), scores[len(source_groups) :].T.copy()
    for row, target in enumerate(targets):
        last = max(target.positions)
        for column, group in enumerate(prefix_groups):
            if min(group) >= last:
                prefix[row, column] = np.nan if min(group) == last else 0.0
    total = np.full(len(targets), np.nan)
    return Attribution("erasure", tuple(targets), source, prefix, source_groups, prefix_groups, total)


def erased_log_probs(
    model: Transformer, trace: Trace, targets: Sequence[Target], variants: Sequence[Interventions]
) -> np.ndarray:
    """Compute the targets' log-probabilities when some tokens are hidden.

    Args:
        model: model in evaluation mode.
        trace: trace of the model run, which supplies the tokens read and predicted.
        targets: the R targets.
        variants: the N interventions to run the model with. Each may only hide tokens.

    Returns:
        Log-probabilities in nats, float64 [N, R].
    """
    length, device = tokens_to_read(targets), model.device
    source, prefix = token_ids(trace, device)
    prefix = prefix[:length]
    # Decode each distinct variant once, and encode the source once for each distinct set of hidden source tokens.
    wanted = [_without_unread(variant, length) for variant in variants]
    distinct, sources = _variant_numbers(wanted), _variant_numbers(each.encoder_part() for each in wanted)
    encoded, results = [], []
    with torch.inference_mode():
        for part in _batches(list(sources), len(source)):
            edits = edits_of(part, model.config, device=device)
            encoded.append(model.encode(source.expand(len(part), -1), None, edits=edits))
            check_cancelled()
        memory = torch.cat(encoded)
        for part in _batches(list(distinct), len(source) + length):
            read = memory[[sources[each.encoder_part()] for each in part]]
            edits = edits_of(part, model.config, device=device)
            hidden = model.decode(prefix.expand(len(part), -1), read, edits=edits)
            log_probs = [objective(model, hidden, trace, [target], log_probs=True) for target in targets]
            results.append(torch.stack(log_probs, dim=1).cpu().double().numpy())
            check_cancelled()
    return np.concatenate(results)[[distinct[each] for each in wanted]]


def _variant_numbers(variants: Iterable[Interventions]) -> dict[Interventions, int]:
    return {each: number for number, each in enumerate(dict.fromkeys(variants))}


def _without_unread(variant: Interventions, length: int) -> Interventions:
    """Drop hidden target tokens at positions from `length` on, because the decoder does not read them."""
    return replace(variant, hidden_target=tuple(each for each in variant.hidden_target if each < length))


def _batches(variants: list[Interventions], tokens: int) -> list[list[Interventions]]:
    """Split variants with `tokens` tokens each into batches of at most BATCH_TOKENS tokens."""
    size = max(1, BATCH_TOKENS // tokens)
    return [variants[start : start + size] for start in range(0, len(variants), size)]
