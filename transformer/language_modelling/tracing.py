"""Everything that a language model computes while it reads a text or goes on from one, as values that never change."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np
import torch

from transformer.checkpoints.language_model import LoadedLanguageModel
from transformer.decoding.constraints import Constraints
from transformer.decoding.search import logit_lens
from transformer.decoding.step import entropy, top_candidates
from transformer.decoding.texts import MAX_CHARACTERS, MAX_PIECES
from transformer.errors import TextError
from transformer.language_modelling.continuation import Continuation, continue_text
from transformer.language_modelling.scoring import TextScore, score_text
from transformer.model.devices import device_errors_explained
from transformer.model.recorder import Recorder
from transformer.text.normalisation import valid
from transformer.text.vocabulary import start_piece
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.trace import DETAILS, Trace
from transformer.values.translation import LogitLens

CANDIDATES = 10


@dataclass(frozen=True, eq=False)
class TracedContinuation:
    """A beginning, what a model wrote after it, and all that was computed for both.

    Attributes:
        continuation: the texts; W pieces were written.
        trace: of the model reading all of it; its last W rows predict what was written.
        ranks: rank of each written piece in the model's distribution, 1 is the likeliest, int [W].
        logit_lens: what each layer alone would have written, [L, W].
    """

    continuation: Continuation
    trace: Trace
    ranks: np.ndarray
    logit_lens: LogitLens


def most_pieces(loaded: LoadedLanguageModel) -> int:
    """Of a text that can be looked at, the start symbol before it not counted."""
    config = loaded.model.config
    # The start symbol takes a position of those that are learned.
    return min(MAX_PIECES, config.max_positions - 1) if config.positions == "learned" else MAX_PIECES


def check_length(loaded: LoadedLanguageModel, text: str) -> None:
    """Refuse a text that is too long to be looked at.

    Raises:
        TextError: it is; the message says by how much.
    """
    most = most_pieces(loaded)
    # Cutting a very long text into pieces would take seconds.
    pieces = len(loaded.tokenizer.encode(valid(text), end=False)) if len(text) <= MAX_CHARACTERS else None
    if pieces is None or pieces > most:
        length = f"{pieces:,} pieces" if pieces else f"{len(text):,} characters"
        raise TextError(
            f"The text has {length}, and this model reads at most {most} pieces after the start symbol: shorten it to "
            "a few sentences."
        )


def trace_continuation(
    loaded: LoadedLanguageModel, text: str, settings: DecodingSettings, *, limit: int,
    forced: Sequence[int] = (), suppressed: Set[int] = frozenset(),
) -> TracedContinuation:
    """Go on from a beginning, and keep what was computed.

    Args:
        loaded: the model, with full attention.
        text: the beginning; it may be empty.
        settings: how pieces are chosen.
        limit: maximum number of pieces to write; fewer where the model has not learned so many positions.
        forced: ids of the pieces that it writes first.
        suppressed: ids not to take after them.

    Raises:
        TextError: the beginning is too long.
        DeviceError: the device ran out of memory.
        ValueError: a setting is out of range, or the vocabulary has no such piece.
    """
    check_length(loaded, text)
    with device_errors_explained(loaded.device):
        continuation = continue_text(
            loaded.model, loaded.tokenizer, text, settings, limit=max(limit, len(forced) + 1),
            constraints=Constraints(tuple(forced), frozenset(suppressed)), capture=True,
        )
        ids = [piece.id for piece in (*continuation.beginning, *continuation.pieces)]
        first = len(continuation.beginning)
        trace, lens, ranks = _read(loaded, ids)
        return TracedContinuation(
            continuation, trace, ranks[first:],
            LogitLens(lens.candidate_ids[:, first:], lens.candidate_log_probs[:, first:], lens.taken[:, first:]),
        )


def trace_text(loaded: LoadedLanguageModel, text: str) -> tuple[TextScore, Trace]:
    """The probability of a text, and what was computed for it.

    Raises:
        TextError: the text is empty or too long.
        DeviceError: the device ran out of memory.
    """
    check_length(loaded, text)
    with device_errors_explained(loaded.device):
        score = score_text(loaded.model, loaded.tokenizer, text)
        return score, _read(loaded, [piece.id for piece in score.pieces])[0]


def trace_unmasked(loaded: LoadedLanguageModel, trace: Trace) -> Trace:
    """The text of a trace, read once more by a model that leaves its mask out, so that every row sees what comes later.

    Args:
        loaded: the model of the trace, with full attention.
        trace: of the text.

    Raises:
        DeviceError: the device ran out of memory.
    """
    with device_errors_explained(loaded.device):
        return _read(loaded, [piece.id for piece in trace.predicted_pieces], Interventions(decoder_mask=False))[0]


def _read(
    loaded: LoadedLanguageModel, pieces: Sequence[int], interventions: Interventions = AS_TRAINED
) -> tuple[Trace, LogitLens, np.ndarray]:
    """Read a text at once, the start symbol before it (teacher forcing): with it, what each layer alone would have
    predicted, [L, T], and the ranks [T] of the pieces.

    There is no source: the arrays of the other two kinds of attention are empty, and `Trace.kinds` does not name them.

    Args:
        pieces: ids of the text, T of them; row t reads the piece before the t-th, which it predicts.
        interventions: that may leave the mask out.
    """
    model, tokenizer = loaded.model, loaded.tokenizer
    predicted = tokenizer.pieces(pieces)
    start = start_piece(tokenizer)
    ids = torch.tensor([model.symbols.start, *pieces], device=model.embedding.weight.device)
    record, masked = Recorder(details=True), interventions.decoder_mask
    with torch.inference_mode():
        log_probs = model(ids[None, :-1], record=record, masked=masked)[0].float().log_softmax(dim=-1)
        taken = log_probs.gather(-1, ids[1:, None]).squeeze(-1)
        candidates = top_candidates(log_probs, CANDIDATES)
        entropies = entropy(log_probs)
        # [1 + 2L] streams -> the L after each feed-forward network.
        lens, ranks = logit_lens(model.norm, model.generator, record.tensors["decoder.residual"][2::2], ids[1:])
    weights = record.stacked("decoder.weights")
    count = len(predicted)
    details = {f"decoder_{name}": record.stacked(f"decoder.{name}") for name in DETAILS}
    trace = Trace(
        source_text="", target_text=tokenizer.decode(pieces), source_pieces=(),
        target_pieces=(start, *predicted[:-1]), predicted_pieces=predicted, complete=predicted[-1].role == "end",
        encoder=weights[:, :, :0, :0], decoder=weights, cross=weights[..., :0],
        encoder_mask=np.ones((0, 0), dtype=bool), decoder_mask=np.tri(count, dtype=bool) | (not masked),
        cross_mask=np.ones((count, 0), dtype=bool), log_probs=taken.cpu().numpy(), entropy=entropies.cpu().numpy(),
        candidate_ids=candidates.ids.cpu().numpy(), candidate_log_probs=candidates.log_probs.cpu().numpy(),
        details={**details, "decoder_residual": record.stacked("decoder.residual")}, interventions=interventions,
        model=loaded.version,
    )
    return trace, lens, ranks.cpu().numpy()
