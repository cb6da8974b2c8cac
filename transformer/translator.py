"""The one object that pages use: text in, trace out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import torch
from torch import Tensor

from transformer.checkpoint import CONFIG, VOCABULARY, WEIGHTS, Checkpoint, load_checkpoint
from transformer.config import TransformerConfig
from transformer.decoding import Constraints, Step, best, entropy, greedy
from transformer.devices import chosen_device
from transformer.errors import DeviceError, TextError
from transformer.model import Recorder
from transformer.model.masks import causal_mask
from transformer.options import AS_TRAINED, RunOptions
from transformer.road import Found, Road, Way
from transformer.search import layer_predictions, search
from transformer.tokenizer import END, START, Piece, Tokenizer, normalise
from transformer.trace import KINDS, Trace
from transformer.weights import Weights

MODEL = Path(__file__).parents[1] / "assets" / "models" / "en-de"
# The longest text on either side, in pieces, the end symbol not counted.
MAX_PIECES = 128
MAX_CHARACTERS = 10_000
CANDIDATES = 10
DETAILS = ("scores", "queries", "keys", "values", "outputs")


class Translator:
    """Translates, and shows how. Threads may share one: nothing of a run is kept on it.

    Attributes:
        config: shape of the model.
        tokenizer: its vocabulary.
        device: "cuda", "mps" or "cpu".
        card: the model card, Markdown.
        curve: how the model learned, as in `transformer.checkpoint.Checkpoint`.
        version: changes whenever configuration, weights or vocabulary do.
    """

    def __init__(self, checkpoint: Checkpoint, *, device: str, version: str) -> None:
        self.config: TransformerConfig = checkpoint.model.config
        self.tokenizer: Tokenizer = checkpoint.tokenizer
        self.card = checkpoint.card
        self.curve = checkpoint.curve
        self.device = device
        self.version = version
        self._model = checkpoint.model_on(device)

    @classmethod
    def load(cls, folder: Path = MODEL, device: str | None = None) -> Translator:
        """Load a model folder.

        Args:
            folder: config.json, model.safetensors, tokenizer.model, README.md, learning_curve.csv.
            device: "cuda", "mps" or "cpu"; None takes the fastest there is.

        Raises:
            CheckpointError: the folder is missing, damaged, or its files do not belong together.
            DeviceError: the device is not there, or has no room for the model.
        """
        device = chosen_device(device)
        checkpoint = load_checkpoint(folder)
        digest = hashlib.sha256()
        for name in (CONFIG, VOCABULARY, WEIGHTS):
            digest.update((folder / name).read_bytes())
        with _out_of_memory_explained(device):
            return cls(checkpoint, device=device, version=digest.hexdigest()[:16])

    @property
    def parameters(self) -> int:
        """Number of parameters, shared ones counted once."""
        return sum(parameter.numel() for parameter in self._model.parameters())

    def weights(self) -> Weights:
        """The model's parameters as arrays; on the CPU they are the model's own memory, read-only."""
        named = self._model.named_parameters(remove_duplicate=False)
        return Weights(self.config, {name: value.detach().float().cpu().numpy() for name, value in named})

    def count_pieces(self, text: str) -> int:
        """Pieces of a text, the end symbol not counted."""
        return len(self.tokenizer.encode_ids(text, end=False))

    def translate(self, text: str, *, details: bool = False, options: RunOptions = AS_TRAINED) -> Trace:
        """Translate greedily, and keep what was computed on the way.

        Args:
            text: a sentence in the source language.
            details: keep scores, queries, keys, values, head outputs and the residual stream as well.
            options: parts of the model to leave out, in this run only.

        Raises:
            TextError: there is nothing to translate, or too much.
            DeviceError: the device ran out of memory.
        """
        source = self._encode(text, "Type a sentence to translate")
        with torch.inference_mode(), _out_of_memory_explained(self.device):
            record = Recorder(details=details)
            memory = self._read_source(source, record, options)
            predicted = [int(step.predicted) for step in self._greedy(memory, options)]
            text_out = self.tokenizer.decode(predicted)
            return self._trace(text, source, text_out, self.tokenizer.pieces(predicted), memory, record, options)

    def read(
        self, source: str, target: str, *, details: bool = False, options: RunOptions = AS_TRAINED
    ) -> Trace:
        """Read a given translation (teacher forcing), and keep what was computed on the way.

        Args:
            source: a sentence in the source language.
            target: its translation, by whomever.
            details, options: as in `translate`.

        Raises:
            TextError: one of the texts is empty or too long.
            DeviceError: the device ran out of memory.
        """
        source_pieces = self._encode(source, "Type a sentence to translate")
        target_pieces = self._encode(target, "Type the translation that the model should read")
        with torch.inference_mode(), _out_of_memory_explained(self.device):
            record = Recorder(details=details)
            memory = self._read_source(source_pieces, record, options)
            return self._trace(source, source_pieces, target, target_pieces, memory, record, options)

    def search(self, text: str, way: Way, *, forced: Sequence[int] = (), never: Set[int] = frozenset()) -> Found:
        """Translate in a way of choice, and keep only the translation.

        Args:
            text: a sentence in the source language.
            way: how pieces are chosen.
            forced: ids that the translation begins with; whole, if the end symbol is the last of them.
            never: ids not to take, unless they are forced.

        Raises:
            TextError: there is nothing to translate, or too much, or too much is forced.
            DeviceError: the device ran out of memory.
            ValueError: a setting is out of range, or the vocabulary has no such piece.
        """
        source = self._encode(text, "Type a sentence to translate")
        with torch.inference_mode(), _out_of_memory_explained(self.device):
            return self._search(self._read_source(source, None, AS_TRAINED), way, forced, never, capture=False)

    def road(self, text: str, way: Way, *, forced: Sequence[int] = (), never: Set[int] = frozenset()) -> Road:
        """Translate as `search` does, and keep everything that was computed along the way.

        Args and Raises: those of `search`.
        """
        source = self._encode(text, "Type a sentence to translate")
        with torch.inference_mode(), _out_of_memory_explained(self.device):
            record = Recorder(details=True)
            memory = self._read_source(source, record, AS_TRAINED)
            found = self._search(memory, way, forced, never, capture=True)
            trace = self._trace(text, source, found.text, found.pieces, memory, record, AS_TRAINED)
            # The residual stream before the first layer, and after each of a layer's three sub-layers.
            outputs = record.tensors["decoder.residual"][3::3]
            layers, ranks = layer_predictions(self._model, outputs, self._ids(found.pieces)[0])
            return Road(found, replace(trace, details={}), ranks.cpu().numpy(), layers)

    def steps(self, text: str) -> Iterator[Step]:
        """The steps of translating `text` greedily, each with the attention rows of all layers and heads.

        Raises:
            TextError: there is nothing to translate, or too much.
            DeviceError: the device ran out of memory.
        """
        source = self._encode(text, "Type a sentence to translate")
        with torch.inference_mode(), _out_of_memory_explained(self.device):
            # All at once: inference mode belongs to a thread, and must not stay on while a caller holds a step.
            steps = list(self._greedy(self._read_source(source, None, AS_TRAINED), AS_TRAINED, capture=True))
        yield from steps

    def _encode(self, text: str, wish: str) -> tuple[Piece, ...]:
        if len(text) > MAX_CHARACTERS:
            raise TextError(
                f"The text has {len(text):,} characters, far more than fit into the {MAX_PIECES} pieces that "
                "can be read at once: shorten it to a sentence or two."
            )
        if not normalise(text):
            raise TextError(f"{wish}: there is nothing to read yet.")
        pieces = self.tokenizer.encode(text)
        if len(pieces) - 1 > MAX_PIECES:
            raise TextError(
                f"The text has {len(pieces) - 1} pieces, and at most {MAX_PIECES} can be read at once: "
                "shorten it to a sentence or two."
            )
        return pieces

    def _read_source(self, pieces: Sequence[Piece], record: Recorder | None, options: RunOptions) -> Tensor:
        source = self._ids(pieces)
        return self._model.encode(source, None, options=options, record=record)

    def _greedy(self, memory: Tensor, options: RunOptions, *, capture: bool = False) -> Iterator[Step]:
        return greedy(self._model, memory, None, limit=self._limit(memory), options=options, capture=capture)

    def _limit(self, memory: Tensor) -> int:
        """Most pieces of a translation. It is rarely half as long again as its source; the rest is room for short ones.
        """
        return min(MAX_PIECES + 1, 2 * memory.shape[1] + 10)

    def _search(
        self, memory: Tensor, way: Way, forced: Sequence[int], never: Set[int], *, capture: bool
    ) -> Found:
        forced, never = tuple(forced), frozenset(never)
        room = MAX_PIECES + 1 - len(forced)
        if room < (not forced or forced[-1] != END):
            raise TextError(
                f"The translation should begin with {len(forced)} pieces, and at most {MAX_PIECES} can be written: "
                "take fewer."
            )
        limit = min(MAX_PIECES + 1, max(self._limit(memory), len(forced) + memory.shape[1]))
        constraints = replace(Constraints.prefix(forced), never=never)
        began = perf_counter()
        result = search(self._model, memory, way, constraints, limit=limit, capture=capture)
        seconds = perf_counter() - began
        return Found(
            way, forced, never, self.tokenizer.pieces(result.pieces), self.tokenizer.decode(result.pieces),
            result.log_prob, result.complete, seconds, result.tree,
        )

    def _trace(
        self,
        source_text: str,
        source: tuple[Piece, ...],
        target_text: str,
        predicted: tuple[Piece, ...],
        memory: Tensor,
        record: Recorder,
        options: RunOptions,
    ) -> Trace:
        """Let the decoder read the whole target at once, and put everything into a trace."""
        target = (*self.tokenizer.pieces([START]), *predicted[:-1])
        hidden = self._model.decode(self._ids(target), memory, None, options=options, record=record)
        log_probs = self._model.generator(hidden[0]).float().log_softmax(dim=-1)
        taken = log_probs.gather(-1, self._ids(predicted).T).squeeze(-1)
        candidate_ids, candidate_log_probs = best(log_probs, CANDIDATES)
        rows, columns = len(target), len(source)
        weights = {kind: _stacked(record, f"{kind}.weights") for kind in KINDS}
        details = {}
        if record.details:
            details = {f"{kind}_{name}": _stacked(record, f"{kind}.{name}") for kind in KINDS for name in DETAILS}
            details |= {f"{stack}_residual": _stacked(record, f"{stack}.residual") for stack in KINDS[:2]}
        return Trace(
            source_text=source_text,
            target_text=target_text,
            source_pieces=source,
            target_pieces=target,
            predicted_pieces=predicted,
            complete=predicted[-1].id == END,
            **weights,
            encoder_mask=torch.ones(columns, columns, dtype=torch.bool).numpy(),
            decoder_mask=(causal_mask(rows) | (not options.decoder_mask)).numpy(),
            cross_mask=torch.ones(rows, columns, dtype=torch.bool).numpy(),
            log_probs=taken.cpu().numpy(),
            entropy=entropy(log_probs).cpu().numpy(),
            candidate_ids=candidate_ids.cpu().numpy(),
            candidate_log_probs=candidate_log_probs.cpu().numpy(),
            details=details,
            options=options,
        )

    def _ids(self, pieces: Sequence[Piece]) -> Tensor:
        """[1, N]."""
        return torch.tensor([[piece.id for piece in pieces]], device=self.device)


def _stacked(record: Recorder, name: str):
    """What all layers reported under a name, for the one sentence of the batch."""
    return torch.cat(record.tensors[name]).float().cpu().numpy()


@contextmanager
def _out_of_memory_explained(device: str) -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        # CUDA has a class of its own for this, Apple's MPS only these words.
        if "out of memory" not in str(error).lower():
            raise
        raise DeviceError(
            f"The device {device} has too little free memory. Shorten the text, or choose the device cpu."
        ) from error
