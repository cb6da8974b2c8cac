"""`Translator`: a translation model on a device, with its vocabulary and methods for translating and tracing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from transformer.attribution.attribution import Attribution, Method, Target, every_position
from transformer.attribution.deletion import DeletionCurves, deletion_curves
from transformer.attribution.erasure import erased_log_probs
from transformer.attribution.methods import attribute
from transformer.checkpoints.checkpoint import Checkpoint, Description, load_checkpoint, weights_of
from transformer.config import TransformerConfig
from transformer.decoding.head_replacements import HeadReplacements
from transformer.decoding.texts import given_target, shifted_right, source_text, text_tokens
from transformer.errors import AtlasError, TextError
from transformer.files.paths import MODEL
from transformer.model.devices import chosen_device, device_errors_explained
from transformer.model.edits import edits_of
from transformer.model.parameter_counts import parameter_table
from transformer.model.recorder import Recorder
from transformer.model.site_recorder import SiteRecorder
from transformer.running.encoded_source import EncodedSource, decode_together, encode, token_ids
from transformer.running.runs.scores import ComparisonRun, GateGradientsRun, ScoresRun
from transformer.running.runs.trace import TraceRun
from transformer.running.runs.translation import DecodingRun, TranslationRun, VariantsRun
from transformer.running.scoring import Comparison, Scores
from transformer.running.translator_run import ReadTarget, TranslatorRun, hashable
from transformer.text.vocabulary import Vocabulary
from transformer.values.decoding_settings import GREEDY, DecodingSettings
from transformer.values.head_means import HeadMeans
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.kinds import Kind
from transformer.values.run import Result, Run, Runs
from transformer.values.sites import HookFunctions
from transformer.values.tokens import Token
from transformer.values.trace import Trace
from transformer.values.translation import TracedTranslation, Translation
from transformer.values.weights import Weights


class Translator(Runs):
    """Translates texts, and traces the model's computation. Thread-safe, because model runs leave no state.

    >>> from transformer import DecodingSettings, Translator
    >>> translator = Translator.load()
    >>> translator.translate("I have a dream.").text
    'Ich habe einen Traum.'
    >>> translator.translate("I have a dream.", DecodingSettings("beam", beam_size=4)).complete
    True
    >>> translator.trace("I have a dream.", target="Ich habe einen Hund.").log_probs.shape
    (6,)

    Most methods create and execute a run, whose class documents the arguments and errors (`transformer.running.runs`).
    Runs can be cancelled between steps; see `transformer.values.cancellation`.

    Attributes:
        config: model configuration.
        tokenizer: the model's vocabulary.
        device: "cuda", "mps" or "cpu".
        card: model card in Markdown.
        languages: source and target language.
        curve: learning curve, as in `transformer.checkpoints.checkpoint.Checkpoint`.
        version: digest that changes whenever the configuration, a weight or the vocabulary changes.
        folder: folder that the model was loaded from; None if the model was created in memory.
        means: the heads' mean outputs, needed for the modes "mean" and "resample"; None if they were not measured on
            this model version.
    """

    def __init__(
        self,
        checkpoint: Checkpoint | Description,
        *,
        device: str,
        version: str,
        means: HeadMeans | None = None,
        folder: Path | None = None,
    ) -> None:
        self.config: TransformerConfig = checkpoint.config
        self.tokenizer: Vocabulary = checkpoint.tokenizer
        self.card = checkpoint.card
        self.languages = checkpoint.languages
        self.curve = checkpoint.curve
        self.device = device
        self.version = version
        self.folder = folder
        # Ignore head means if they were measured on another model.
        self.means = means if means is not None and means.model == version else None
        if isinstance(checkpoint, Checkpoint):
            self._model = checkpoint.model_on(device)

    @classmethod
    def load(cls, folder: Path | str = MODEL, device: str | None = None) -> Translator:
        """Load a model folder.

        Args:
            folder: model folder, as for `checkpoints.checkpoint.load_checkpoint`; head_means.safetensors may be
                missing.
            device: "cuda", "mps" or "cpu"; None means the fastest device available.

        Raises:
            CheckpointError: the folder is missing or damaged, or its files do not belong together.
            DeviceError: the device is not available, or has too little memory for the model.
        """
        folder, device = Path(folder), chosen_device(device)
        checkpoint = load_checkpoint(folder)
        with device_errors_explained(device):
            return cls(
                checkpoint, device=device, version=checkpoint.version, means=HeadMeans.load(folder), folder=folder
            )

    @cached_property
    def parameters(self) -> int:
        """Number of parameters, counting shared ones once."""
        return sum(count for _, count in parameter_table(self.config))

    def weights(self) -> Weights:
        return weights_of(self._model, self.device)

    def translate(
        self,
        text: str,
        settings: DecodingSettings = GREEDY,
        *,
        prefix: Sequence[int] = (),
        suppressed: Set[int] = frozenset(),
        interventions: Interventions = AS_TRAINED,
    ) -> Translation:
        """Translate a text, and return the translation; see `TranslationRun`."""
        return self.get(TranslationRun(text, settings, tuple(prefix), frozenset(suppressed), interventions))

    def translate_variants(self, text: str, variants: Sequence[Interventions]) -> list[tuple[Token, ...]]:
        """Translate a text greedily under each variant, and return each translation's tokens; see `VariantsRun`."""
        return self.get(VariantsRun(text, tuple(variants)))

    def trace(
        self,
        text: str,
        target: ReadTarget = None,
        *,
        details: bool = False,
        interventions: Interventions = AS_TRAINED,
        hooks: HookFunctions | None = None,
    ) -> Trace:
        """Trace the model on a text, with a given translation or with the model's own; see `TraceRun`.

        >>> import torch
        >>> from transformer import Translator
        >>> def hide_itself(scores, layer, start):
        ...     return scores - 1000 * torch.eye(scores.shape[-1])
        >>> trace = Translator.load().trace("I have a dream.", hooks={"encoder.scores": hide_itself})
        >>> float(trace.encoder.diagonal(axis1=-2, axis2=-1).max())
        0.0

        Args:
            text, target, details, interventions: fields of the run.
            hooks: functions, keyed by site, that read and change the model's values (docs/hooks.md). A run with hooks
                is never cached and never sent to a server, and its trace does not record the hooks.

        Raises:
            InterventionError: the model has no such site, or a function changes the shape of a value.
        """
        run = TraceRun(text, hashable(target), details, interventions)
        return self.trace_with_hooks(run, hooks) if hooks else self.get(run)

    def activations(
        self,
        text: str,
        sites: Iterable[str],
        target: ReadTarget = None,
        *,
        interventions: Interventions = AS_TRAINED,
        hooks: HookFunctions | None = None,
    ) -> dict[str, np.ndarray]:
        """Return the model's values at the given sites while it reads a translation, as read-only arrays by site name.

        >>> from transformer import Translator
        >>> hidden = "encoder.feed_forward_hidden"
        >>> found = Translator.load().activations("I have a dream.", [hidden, f"{hidden}.2"])
        >>> found[hidden].shape, found[f"{hidden}.2"].shape
        ((6, 6, 1024), (6, 1024))

        Args:
            text, target, interventions, hooks: as in `trace`; the values are those after interventions and hooks.
            sites: names of sites, each with or without a layer (docs/hooks.md).

        Returns:
            Arrays with the shapes in docs/hooks.md, except that the first axis is the layer L instead of the text B.
            Arrays for a single layer, and for sites outside the layers, do not have this axis.

        Raises:
            InterventionError: as in `trace`.
        """
        record = SiteRecorder(sites, self.config)
        self.trace_with_hooks(TraceRun(text, hashable(target), interventions=interventions), hooks or {}, record)
        return record.arrays()

    def gradients(
        self,
        text: str,
        sites: Iterable[str],
        of: Callable[[Tensor], Tensor] | None = None,
        target: ReadTarget = None,
        *,
        interventions: Interventions = AS_TRAINED,
        hooks: HookFunctions | None = None,
    ) -> dict[str, np.ndarray]:
        """Return gradients with respect to the model's values at the given sites, as read-only arrays by site name.

        Args:
            text, sites, target, interventions, hooks: as in `activations`.
            of: function of the translation's logits [T, V] that returns the number to differentiate. None means the
                translation's log-probability.

        Returns:
            Arrays with the same shapes as those of `activations`.

        Raises:
            InterventionError: as in `trace`.
        """
        record = SiteRecorder(sites, self.config)
        trace = self.trace(text, target, interventions=interventions, hooks=hooks)
        with torch.inference_mode(False), torch.enable_grad(), device_errors_explained(self.device):
            source, read, predicted = (
                token_ids(tokens, self.device)
                for tokens in (trace.source_tokens, trace.target_tokens, trace.predicted_tokens)
            )
            replacements = HeadReplacements(self._model, self.means, source[0].tolist())
            edits = edits_of([interventions], self.config, replacements, self.device, hooks)
            logits = self._model(source, read, edits=edits, record=record)[0]
            if of is None:
                return record.gradients(logits.log_softmax(dim=-1).gather(-1, predicted.T).sum())
            return record.gradients(of(logits))

    def trace_with_hooks(self, run: TraceRun, hooks: HookFunctions, record: Recorder | None = None) -> Trace:
        """Return the result of a `TraceRun` with hooks (see `trace`); `record` receives the values of the run."""
        with self._computing():
            return run.with_hooks(self, hooks, record)

    def trace_decoding(
        self,
        text: str,
        settings: DecodingSettings = GREEDY,
        *,
        prefix: Sequence[int] = (),
        suppressed: Set[int] = frozenset(),
        interventions: Interventions = AS_TRAINED,
    ) -> TracedTranslation:
        """Translate a text, and return the result with its trace, search tree and logit lens; see `DecodingRun`."""
        return self.get(DecodingRun(text, settings, tuple(prefix), frozenset(suppressed), interventions))

    def score(self, text: str, target: ReadTarget, variants: Sequence[Interventions]) -> Scores:
        """Score the model's predictions of a translation under each variant; see `ScoresRun`.

        >>> from transformer import Interventions, Translator
        >>> off = [Interventions(gates={("cross", 0, head): 0.0}) for head in range(8)]
        >>> Translator.load().score("I have a dream.", "Ich habe einen Traum.", off).change.shape
        (8,)
        """
        return self.get(ScoresRun(text, hashable(target), tuple(variants)))

    def compare(
        self, text: str, target: ReadTarget, variants: Sequence[Interventions], *, details: bool = False
    ) -> Comparison:
        """Like `score`, but also return the traces without and with the first variant; see `ComparisonRun`."""
        return self.get(ComparisonRun(text, hashable(target), tuple(variants), details))

    def gate_gradients(self, text: str, target: ReadTarget) -> dict[Kind, np.ndarray]:
        """Return the gradient of the translation's log-probability with respect to each head's gate, by kind, float32
        [L, H]; see `GateGradientsRun`.
        """
        return self.get(GateGradientsRun(text, hashable(target)))

    def answer(self, run: Run[Result], *needed: Any) -> Result:
        if not isinstance(run, TranslatorRun):
            return super().answer(run, *needed)
        with self._computing():
            return run.compute(self, *needed)

    def trace_together(
        self,
        texts: Sequence[str],
        done: Callable[[int, Trace | AtlasError], object],
        targets: Sequence[str | None] | None = None,
    ) -> None:
        """Trace several texts.

        Translations are generated in one batch, which is several times as fast as generating them one by one. The
        traces are bitwise identical to those of separate runs, because only the generation of translations is batched.

        Args:
            texts: source sentences.
            done: callback that receives a text's index, and its trace or error, as soon as the result is known. Shorter
                texts do not wait for longer ones.
            targets: translation of each text, or None for the model's own. Without `targets`, the model translates all
                texts.

        Raises:
            AtlasError: the device ran out of memory, or a translation does not fit into the model. Texts without a
                result can still be traced separately.
        """
        with self._computing():
            encoded: dict[int, EncodedSource] = {}
            for number, (text, target) in enumerate(zip(texts, targets or [None] * len(texts), strict=True)):
                try:
                    given = None if target is None else given_target(self.tokenizer, target, text)
                    one = self.encode(text, AS_TRAINED, Recorder(details=False))
                except TextError as error:
                    done(number, error)
                    continue
                if given is None:
                    encoded[number] = one
                else:
                    done(number, one.reader.read(*given)[0])
            numbers = list(encoded)
            for place, written, tokens in decode_together(list(encoded.values())) if encoded else ():
                done(numbers[place], encoded[numbers[place]].reader.read(written, tokens)[0])

    def attribute(
        self, trace: Trace, method: Method, targets: Sequence[Target] | None = None, *, words: bool = False
    ) -> Attribution:
        """Attribute predicted tokens to the tokens that the model read, by one attribution method.

        Args:
            trace: trace from this translator, with details.
            method: one of `transformer.attribution.attribution.METHODS`.
            targets: predictions to explain; None explains every predicted token.
            words: whether to score words instead of tokens.

        Raises:
            DeviceError: the device ran out of memory.
            ValueError: the trace was not computed with `details=True` or lacks a target's position, or the method does
                not support the trace.
        """
        with device_errors_explained(self.device):
            chosen = every_position(trace) if targets is None else targets
            return attribute(self._model, self.weights(), trace, method, chosen, words=words)

    def deletion_curves(
        self, trace: Trace, attribution: Attribution, columns: Sequence[int], *, target: int = 0
    ) -> DeletionCurves:
        """Measure how a target's log-probability falls as source columns are hidden in order of attribution.

        For comparison, the columns are also hidden in reverse order and in random orders.

        Args:
            trace: trace from this translator.
            attribution: attribution to evaluate.
            columns: source columns to hide one by one; other columns stay visible.
            target: index of the target in `attribution.targets`.

        Raises:
            DeviceError: the device ran out of memory.
        """
        chosen = attribution.targets[target]

        def log_probs(left: np.ndarray) -> np.ndarray:
            groups = attribution.source_groups
            variants = [
                Interventions(
                    hidden_source=[
                        position for column, group in enumerate(groups) if not row[column] for position in group
                    ]
                )
                for row in left
            ]
            return erased_log_probs(self._model, trace, [chosen], variants)[:, 0]

        with device_errors_explained(self.device):
            return deletion_curves(log_probs, attribution.source[target], columns)

    def given(self, text: str, target: ReadTarget) -> tuple[Tensor, Tensor, Tensor]:
        """Return the token ids of the source [1, S], the decoder input [1, T], and the tokens to predict [T]."""
        predicted = self.translate(text).tokens if target is None else given_target(self.tokenizer, target, text)[1]
        source = token_ids(text_tokens(self.tokenizer, self.typed(text), "source"), self.device)
        decoder_input = token_ids(shifted_right(self.tokenizer, predicted), self.device)
        return source, decoder_input, token_ids(predicted, self.device)[0]

    def check_variants(self, variants: Sequence[Interventions], source: Tensor) -> None:
        """Raise an InterventionError if a variant refers to a head or token that the model or source [1, S] lacks."""
        for variant in variants:
            variant.check(self.config, source.shape[1])

    def encode(
        self,
        text: str,
        interventions: Interventions,
        record: Recorder | None = None,
        hooks: HookFunctions | None = None,
    ) -> EncodedSource:
        """Encode a source text in inference mode; see `transformer.running.encoded_source.encode`."""
        return encode(
            self._model,
            self.tokenizer,
            self.typed(text),
            interventions,
            means=self.means,
            device=self.device,
            version=self.version,
            record=record,
            hooks=hooks,
        )

    def typed(self, text: str) -> str:
        """Validate and return a source text that a user typed; see `source_text`."""
        return source_text(text, self.tokenizer.codes, self.languages)

    @contextmanager
    def _computing(self) -> Iterator[None]:
        with torch.inference_mode(), device_errors_explained(self.device):
            yield
