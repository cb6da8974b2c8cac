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
    """The input of a decoding run.

    Attributes:
        text: a sentence in the source language.
        settings: how tokens are chosen.
        prefix: ids of the tokens that the translation begins with; the whole translation if the last is the end symbol.
        suppressed: ids of tokens that must not be taken after the prefix.
        interventions: changes to this run only.
    """

    text: str
    settings: DecodingSettings = GREEDY
    prefix: tuple[int, ...] = ()
    suppressed: frozenset[int] = frozenset()
    interventions: Interventions = AS_TRAINED

    message = "Decoding …"


@dataclass(frozen=True)
class TranslationRun(Decoding, TranslatorRun[Translation]):
    """Translate, and keep no intermediate results.

    Raises:
        TextError: the text is empty or too long, or the prefix is too long.
        DeviceError: the device ran out of memory.
        InterventionError: the interventions change a part that the model or the sentence lacks.
        ValueError: a setting is out of range, or the vocabulary has no such token.
    """

    def compute(self, runs: Translator) -> Translation:
        return runs.encode(self.text, self.interventions).decode(self.settings, self.prefix, self.suppressed)


@dataclass(frozen=True)
class DecodingRun(Decoding, TranslatorRun[TracedTranslation]):
    """Translate, and keep everything that was computed for the translation.

    Raises: the errors of `TranslationRun`.
    """

    def compute(self, runs: Translator) -> TracedTranslation:
        # The logit lens needs the residual stream.
        source = runs.encode(self.text, self.interventions, Recorder(details=True))
        translation = source.decode(self.settings, self.prefix, self.suppressed, capture=True)
        trace, _ = source.reader.read(translation.text, translation.tokens)
        check_cancelled()
        lens, ranks = source.reader.logit_lens(translation.tokens)
        return TracedTranslation(translation, replace(trace, details={}), ranks, lens)


@dataclass(frozen=True)
class VariantsRun(TranslatorRun[list[tuple[Token, ...]]]):
    """The tokens of the greedy translations under many interventions; computed as one batch.

    Attributes:
        text: a sentence in the source language.
        variants: N interventions, which all add positions or all leave them out.

    Raises: the errors of `TranslationRun`.
    """

    text: str
    variants: tuple[Interventions, ...]

    long = True

    def compute(self, runs: Translator) -> list[tuple[Token, ...]]:
        text = runs.typed(self.text)
        source = token_ids(text_tokens(runs.tokenizer, text, "source"), runs.device)
        runs.check_variants(self.variants, source)
        return decode_variants(runs._model, runs.tokenizer, text, source, self.variants, runs.means)
