"""Runs that translate a sentence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from transformer.decoding.texts import text_tokens
from transformer.model.recorder import Recorder
from transformer.running.encoded_source import decode_variants, token_ids
from transformer.running.translator_run import TranslatorRun
from transformer.values.cancellation import check_cancelled
from transformer.values.decoding_settings import GREEDY, DecodingSettings
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.tokens import Token
from transformer.values.translation import TracedTranslation, Translation

if TYPE_CHECKING:
    from transformer.running.translator import Translator


@dataclass(frozen=True)
class Decoding:
    """Input of runs that generate a translation.

    Attributes:
        text: source sentence.
        settings: decoding method and parameters.
        prefix: ids of the tokens that the translation is forced to begin with. If the last one is the end symbol, the
            prefix is the whole translation.
        suppressed: ids of the tokens banned after the prefix.
        interventions: interventions to run the model with.
    """

    text: str
    settings: DecodingSettings = GREEDY
    prefix: tuple[int, ...] = ()
    suppressed: frozenset[int] = frozenset()
    interventions: Interventions = AS_TRAINED

    message = "Decoding …"


@dataclass(frozen=True)
class TranslationRun(Decoding, TranslatorRun[Translation]):
    """Translates a sentence without recording a trace.

    Raises:
        TextError: the text is empty or too long, or the prefix is too long.
        DeviceError: the device ran out of memory.
        InterventionError: the model or the sentence does not support the interventions.
        ValueError: a token id is not in the vocabulary, or every token is suppressed.
    """

    def compute(self, runs: Translator) -> Translation:
        return runs.encode(self.text, self.interventions).decode(self.settings, self.prefix, self.suppressed)


@dataclass(frozen=True)
class DecodingRun(Decoding, TranslatorRun[TracedTranslation]):
    """Translates a sentence, and returns the translation with its trace, search tree and logit lens.

    Raises: as in `TranslationRun`.
    """

    def compute(self, runs: Translator) -> TracedTranslation:
        # Record details, because the logit lens needs the residual stream.
        encoded = runs.encode(self.text, self.interventions, Recorder(details=True))
        translation = encoded.decode(self.settings, self.prefix, self.suppressed, capture=True)
        trace, _ = encoded.reader.read(translation.text, translation.tokens)
        check_cancelled()
        lens, ranks = encoded.reader.logit_lens(translation.tokens)
        return TracedTranslation(translation, replace(trace, details={}), ranks, lens)


@dataclass(frozen=True)
class VariantsRun(TranslatorRun[list[tuple[Token, ...]]]):
    """Translates a sentence greedily under N interventions in one batch, and returns each translation's tokens.

    Attributes:
        text: source sentence.
        variants: N interventions, all with the same `positions`.

    Raises: as in `TranslationRun`.
    """

    text: str
    variants: tuple[Interventions, ...]

    long = True

    def compute(self, runs: Translator) -> list[tuple[Token, ...]]:
        text = runs.typed(self.text)
        source = token_ids(text_tokens(runs.tokenizer, text, "source"), runs.device)
        runs.check_variants(self.variants, source)
        return decode_variants(runs._model, runs.tokenizer, text, source, self.variants, runs.means)
