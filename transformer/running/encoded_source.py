"""Encodes source texts, and runs the decoder on the result to generate or trace translations."""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from transformer.decoding.constraints import Constraints
from transformer.decoding.greedy import greedy_batch
from transformer.decoding.head_replacements import HeadReplacements
from transformer.decoding.reading import Reader
from transformer.decoding.texts import MAX_TOKENS, text_tokens
from transformer.decoding.writing import write
from transformer.errors import TextError
from transformer.model.edits import Edits, edits_of
from transformer.model.kv_cache import DecoderCache
from transformer.model.recorder import Recorder
from transformer.model.transformer import Transformer
from transformer.text.vocabulary import Vocabulary
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.head_means import HeadMeans
from transformer.values.interventions import Interventions
from transformer.values.sites import HookFunctions
from transformer.values.tokens import Token
from transformer.values.translation import Translation


@dataclass(frozen=True, eq=False)
class EncodedSource:
    """An encoded source text, created by `encode`. The methods run the decoder.

    Attributes:
        model: model in evaluation mode; call the methods under `torch.inference_mode()`.
        vocabulary: the model's vocabulary.
        text: source text.
        tokens: the S source tokens.
        memory: the encoder's output, [1, S, D].
        interventions: interventions that the model runs with.
        edits: the interventions and hooks, as converted by `edits_of`.
        record: recorder for activations; None if nothing is recorded.
        version: model version, stored in traces.
    """

    model: Transformer
    vocabulary: Vocabulary
    text: str
    tokens: tuple[Token, ...]
    memory: Tensor
    interventions: Interventions
    edits: Edits
    record: Recorder | None
    version: str

    def decode(
        self,
        settings: DecodingSettings,
        prefix: Sequence[int] = (),
        suppressed: Set[int] = frozenset(),
        *,
        capture: bool = False,
    ) -> Translation:
        """Generate a translation.

        Args:
            settings: decoding method and its parameters.
            prefix: ids of the tokens that the translation is forced to begin with.
            suppressed: ids of the tokens banned after the prefix.
            capture: whether beam search returns a search tree.

        Raises:
            TextError: the prefix is too long.
            ValueError: a token id is not in the vocabulary, or every token is suppressed.
        """
        prefix, suppressed = tuple(prefix) or self.vocabulary.begin(self.text), frozenset(suppressed)
        free = MAX_TOKENS + 1 - len(prefix)
        if free < (not prefix or prefix[-1] != self.vocabulary.symbols.end):
            raise TextError(
                f"The translation is forced to begin with {len(prefix)} tokens, but it can have at most {MAX_TOKENS}: "
                "force fewer tokens."
            )
        limit = most_tokens(self.model, len(self.tokens), len(prefix))
        return write(
            self.model,
            self.vocabulary,
            self._start,
            settings,
            Constraints(prefix, suppressed),
            limit=limit,
            capture=capture,
        )

    @cached_property
    def reader(self) -> Reader:
        """A `Reader` that traces target texts; requires `record`."""
        assert self.record is not None, "only a recorded run can be traced"
        return Reader(
            self.model,
            self.vocabulary,
            self.text,
            self.tokens,
            self._start,
            self.interventions,
            self.record,
            self.version,
        )

    @cached_property
    def _start(self) -> DecoderCache:
        """The initial decoder cache."""
        return self.model.start_cache(self.memory, None, edits=self.edits)


def encode(
    model: Transformer,
    vocabulary: Vocabulary,
    text: str,
    interventions: Interventions,
    *,
    means: HeadMeans | None,
    device: str,
    version: str,
    record: Recorder | None = None,
    hooks: HookFunctions | None = None,
) -> EncodedSource:
    """Run the encoder on a source text.

    Args:
        model: model in evaluation mode; call this function under `torch.inference_mode()`.
        vocabulary: the model's vocabulary.
        text: source text, as returned by `source_text`.
        interventions: interventions to run the model with.
        means: the heads' mean outputs, needed for the modes "mean" and "resample".
        device, version: device and version of the model.
        record: recorder for activations; None to record nothing.
        hooks: functions by site, for the encoder and all later decoder runs.

    Raises:
        TextError: the text is empty or too long.
        InterventionError: the interventions or hooks refer to a head, token or site that does not exist, or
            need `means`, which are missing.
    """
    tokens = text_tokens(vocabulary, text, "source")
    interventions.check(model.config, len(tokens))
    replacements = HeadReplacements(model, means, [token.id for token in tokens])
    edits = edits_of([interventions], model.config, replacements, device, hooks)
    memory = model.encode(token_ids(tokens, device), None, edits=edits, record=record)
    return EncodedSource(model, vocabulary, text, tokens, memory, interventions, edits, record, version)


def decode_together(sources: Sequence[EncodedSource]) -> Iterator[tuple[int, str, tuple[Token, ...]]]:
    """Translate several encoded sources greedily in one batch.

    Args:
        sources: sources encoded by the same model without interventions.

    Yields:
        Index of a source, and the text and tokens of its translation, as soon as the translation is complete.
    """
    model, vocabulary = sources[0].model, sources[0].vocabulary
    begins = [vocabulary.begin(source.text) for source in sources]
    if len(set(begins)) > 1:
        # All texts in a batch must share one forced prefix, so group the sources by prefix.
        for begin in set(begins):
            places = [place for place, own in enumerate(begins) if own == begin]
            for place, text, tokens in decode_together([sources[place] for place in places]):
                yield places[place], text, tokens
        return
    # B tensors [1, S, D] -> [B, S, D], padded to the longest source.
    memory = pad_sequence([source.memory[0] for source in sources], batch_first=True)
    lengths = torch.tensor([len(source.tokens) for source in sources], device=memory.device)
    mask = torch.arange(memory.shape[1], device=memory.device) < lengths[:, None]
    cache = model.start_cache(memory, None if mask.all() else mask)
    limits = [most_tokens(model, len(source.tokens)) for source in sources]
    constraints = Constraints(begins[0], spelling=vocabulary.spelling)
    for number, ids in greedy_batch(model, cache, limits, constraints=constraints):
        yield number, vocabulary.decode(ids), vocabulary.tokens(ids)


def decode_variants(
    model: Transformer,
    vocabulary: Vocabulary,
    text: str,
    source: Tensor,
    variants: Sequence[Interventions],
    means: HeadMeans | None,
) -> list[tuple[Token, ...]]:
    """Translate one source greedily under N interventions in one batch, and return each translation's tokens.

    Args:
        model, means: as in `encode`.
        vocabulary: the model's vocabulary.
        text: source text.
        source: token ids of the source, [1, S].
        variants: N interventions, already checked against the model and the source.
    """
    replacements = HeadReplacements(model, means, source[0].tolist())
    edits = edits_of(variants, model.config, replacements, source.device)
    memory = model.encode(source.expand(len(variants), -1), None, edits=edits)
    cache = model.start_cache(memory, None, edits=edits)
    limits = [most_tokens(model, source.shape[1])] * len(variants)
    constraints = Constraints(vocabulary.begin(text), spelling=vocabulary.spelling)
    written = dict(greedy_batch(model, cache, limits, constraints=constraints))
    return [vocabulary.tokens(written[number]) for number in range(len(variants))]


def most_tokens(model: Transformer, source_length: int, prefix_length: int = 0) -> int:
    """Return the maximum number of tokens in a translation.

    Args:
        model: the model; imported models may have their own limit.
        source_length: number of source tokens.
        prefix_length: number of tokens in the forced prefix.
    """
    # With learned positions, the decoder reads at most `position_limit` tokens, and predicts one token after each.
    possible = min(MAX_TOKENS + 1, max(model.config.position_limit or MAX_TOKENS + 1, prefix_length))
    if model.config.generation is not None and (limit := model.config.generation.limit) is not None:
        return min(possible, max(limit, prefix_length))
    # Translations are rarely longer than 1.5 times the source, except for short sources.
    return min(possible, max(2 * source_length + 10, prefix_length + source_length))


def token_ids(tokens: Sequence[Token], device: str | torch.device) -> Tensor:
    """Return a sentence's token ids as a batch of one, [1, N]."""
    return torch.tensor([[token.id for token in tokens]], device=device)
