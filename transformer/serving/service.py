"""Answers HTTP requests by calling a translator. Works with any HTTP server."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

from transformer.errors import AtlasError
from transformer.running.translator import Translator
from transformer.running.translator_run import TranslatorRun
from transformer.serving.answers import (
    CONFLICT,
    ERRORS,
    FAILED,
    NOT_FOUND,
    UNPROCESSABLE,
    Reply,
    archive_reply,
    json_reply,
)
from transformer.serving.fair_lock import DisconnectedError
from transformer.serving.protocol import IDENTITY, MAX_BYTES, PROTOCOL, RUN, RequestError, read_head, read_run
from transformer.values.cancellation import cancellable
from transformer.values.trace import Trace

LOG = logging.getLogger(__name__)


class Service:
    """Parses and answers requests. Thread-safe, because no state is kept between requests."""

    def __init__(self, translator: Translator) -> None:
        self._translator = translator
        self.model = translator.version

    def parse(self, method: str, path: str, body: bytes | None) -> TranslatorRun[Any] | Reply:
        """Return the requested run, or a reply if the request is invalid or asks for the server's identity.

        Args:
            method, path, body: parts of the HTTP request; `body` is None if it was too large to be read.
        """
        if (method, path) == ("GET", IDENTITY):
            return json_reply(self.model, device=self._translator.device)
        if (method, path) != ("POST", RUN):
            return self._refused(NOT_FOUND, "RequestError", f"The server accepts only GET {IDENTITY} and POST {RUN}.")
        try:
            if body is None:
                raise RequestError(f"the request body has more than {MAX_BYTES:,} bytes")
            head = read_head(body)
            if head.protocol != PROTOCOL or head.model != self.model:
                # Every reply contains the server's protocol and model version, so the client can say which one differs.
                return self._refused(CONFLICT, "RequestError", "The request is for another protocol or model version.")
            return read_run(body)
        except AtlasError as error:
            return self._failed(error)
        except RequestError as error:
            return self._refused(UNPROCESSABLE, "RequestError", f"The request cannot be read: {error}.")

    def answer(self, run: TranslatorRun[Any], between_steps: Callable[[], object] | None = None) -> Reply:
        """Compute a run, and return the result or error as a reply.

        Args:
            run: run to compute.
            between_steps: function to call between the run's steps; it may raise a DisconnectedError to end the run.

        Raises:
            DisconnectedError: `between_steps` raised this error.
        """
        try:
            with cancellable(between_steps):
                result = self._translator.get(run)
        except DisconnectedError:
            raise
        except Exception as error:
            return self._failed(error)
        return archive_reply(self.model, run, result)

    def answer_together(self, runs: Sequence[TranslatorRun[Any]]) -> list[Reply]:
        """Compute several `plain` runs as one batch and return their replies.

        An error affects only the reply to the run that caused it.
        """
        replies: dict[int, Reply] = {}

        def done(number: int, found: Trace | AtlasError) -> None:
            wrong = isinstance(found, AtlasError)
            replies[number] = self._failed(found) if wrong else archive_reply(self.model, runs[number], found)

        try:
            self._translator.trace_together([run.text for run in runs], done)
        except Exception:
            # Runs without a reply are computed one by one below.
            LOG.warning("%d requests could not be answered together", len(runs), exc_info=True)
        return [replies[number] if number in replies else self.answer(run) for number, run in enumerate(runs)]

    def _refused(self, status: int, error: str, message: str) -> Reply:
        return json_reply(self.model, status, error=error, message=message)

    def _failed(self, error: Exception) -> Reply:
        name = type(error).__name__
        if name in ERRORS:
            return self._refused(UNPROCESSABLE, name, str(error))
        # Clients get only the name of an unexpected error; the details are in the server's log.
        LOG.error("a run failed", exc_info=error)
        return self._refused(FAILED, name, f"The model server failed ({name}): see its log.")
