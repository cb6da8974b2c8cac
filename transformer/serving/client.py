"""A translator whose model runs on a server."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from transformer.checkpoints.checkpoint import load_checkpoint, load_description
from transformer.checkpoints.model_files import folder_version
from transformer.errors import AtlasError, InterventionError, TextError
from transformer.files.paths import MODEL
from transformer.model.devices import chosen_device
from transformer.model.recorder import Recorder
from transformer.model.transformer import Transformer
from transformer.running.runs.trace import TraceRun
from transformer.running.translator import Translator
from transformer.running.translator_run import TranslatorRun
from transformer.serving.answers import identity_of, result_of
from transformer.serving.connection import IDENTITY_TIMEOUT, Connection
from transformer.serving.protocol import IDENTITY, RUN, request
from transformer.values.head_means import HeadMeans
from transformer.values.run import Result, Run
from transformer.values.sites import HookFunctions
from transformer.values.trace import Trace

# Environment variable with the URL of a model server.
SERVER_VARIABLE = "ATTENTION_ATLAS_SERVER"
# Maximum number of simultaneous requests in one call to `trace_together`.
MAX_REQUESTS = 16


class RemoteTranslator(Translator):
    """A translator that sends most runs to a model server, as described in `transformer.serving`. Thread-safe.

    Errors raised on the server are raised again on the client. `ServerError` is raised if the server does not answer,
    or uses a different protocol or model. Cancelling a run closes the connection, and the server then stops the run.

    Args:
        address: URL of the server, such as http://10.0.0.5:8600.
        folder: local folder with the server's model.
        device: local device, for computations on the client; None means the fastest device available.

    Attributes:
        device: the server's device.

    Raises:
        ServerError: the server does not answer, or uses a different protocol or model.
        CheckpointError: the folder is missing or damaged.
        DeviceError: the local device is not available.
    """

    def __init__(self, address: str, folder: Path = MODEL, device: str | None = None) -> None:
        self._connection = Connection(address)
        self._own_device, self._folder = chosen_device(device), folder
        described = load_description(folder)
        version = folder_version(folder, described.tokenizer)
        device = identity_of(self._connection.ask(IDENTITY, seconds=IDENTITY_TIMEOUT), address, version)
        super().__init__(described, device=device, version=version, means=HeadMeans.load(folder), folder=folder)
        self._loading = threading.Lock()
        self._loaded: Transformer | None = None

    @property
    def _model(self) -> Transformer:
        """Local copy of the model, loaded on first use."""
        with self._loading:
            if self._loaded is None:
                self._loaded = load_checkpoint(self._folder).model_on(self._own_device)
            return self._loaded

    def answer(self, run: Run[Result], *needed: Any) -> Result:
        if not isinstance(run, TranslatorRun):
            return super().answer(run, *needed)
        reply = self._connection.ask(RUN, request(run, self.version))
        return result_of(reply, self._connection.address, self.version, run)

    def trace_with_hooks(self, run: TraceRun, hooks: HookFunctions, record: Recorder | None = None) -> Trace:
        raise InterventionError(
            "Hooks and recorders belong to this process and cannot be sent to a server: load the model here, with "
            "Translator.load()."
        )

    def trace_together(self, texts: Sequence[str], done: Callable[[int, Trace | AtlasError], object]) -> None:
        """Trace texts in simultaneous requests, because the server batches requests that arrive together."""
        if not texts:
            return
        with ThreadPoolExecutor(min(len(texts), MAX_REQUESTS)) as askers:
            futures = {askers.submit(self.trace, text): number for number, text in enumerate(texts)}
            for each in as_completed(futures):
                try:
                    trace = each.result()
                except TextError as error:
                    trace = error
                done(futures[each], trace)
