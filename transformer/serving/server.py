"""The model server on Ray Serve: replicas of the model behind one URL.

No other module needs Ray Serve. In a Ray Serve configuration file, the import path is
`transformer.serving.server:application`. `start` runs the server on this machine, or on the cluster whose address is in
the environment variable RAY_ADDRESS.
"""

import logging
import os
import signal
from functools import partial
from pathlib import Path

if not os.environ.get("RAY_ADDRESS"):
    # Make Ray's processes listen only on this machine, as they do by default on macOS and Windows.
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")

# Import `ray_cluster` before Ray, because it sets Ray's environment variables.
from transformer.serving.ray_cluster import join, ray

# isort: split
from pydantic import BaseModel
from ray import serve
from ray.serve.config import AutoscalingConfig, HTTPOptions
from ray.serve.schema import LoggingConfig
from starlette.requests import Request as Asked
from starlette.responses import Response

from transformer.files.paths import MODEL
from transformer.running.translator import Translator
from transformer.running.translator_run import TranslatorRun
from transformer.serving.answers import Reply
from transformer.serving.body import read_body
from transformer.serving.connection import ANSWER_TIMEOUT
from transformer.serving.fair_lock import FairLock
from transformer.serving.server_process import tune_process
from transformer.serving.service import Service
from transformer.values.trace import Trace

# Maximum number of translations in a batch, and seconds that the first translation waits for others.
BATCH_SIZE, BATCH_WAIT = 16, 0.005
# Ray starts another replica if the average number of requests in progress per replica is above this.
MAX_QUEUE = 8
# Maximum number of requests at one replica, including those that wait for their turn.
MAX_REPLICA_REQUESTS = 64
# Bytes of shared memory for answers in transit; the largest answers take 70 million bytes.
OBJECT_STORE_BYTES = 200_000_000


@serve.deployment(name="model", max_ongoing_requests=MAX_REPLICA_REQUESTS)
class Replica:
    """One copy of the model, which computes at most one long run and one short run (or batch of traces) at a time."""

    def __init__(self, folder: str) -> None:
        self._service = Service(Translator.load(Path(folder)))
        tune_process()
        self._turn, self._long_turn = FairLock(MAX_REPLICA_REQUESTS), FairLock(MAX_REPLICA_REQUESTS)

    async def __call__(self, asked: Asked) -> Response:
        body = await read_body(int(asked.headers.get("Content-Length", 0)), asked.stream())
        run = self._service.parse(asked.method, asked.url.path, body)
        if isinstance(run, Reply):
            reply = run
        elif run.plain:
            reply = await self._together(run)
        else:
            turn = self._long_turn if run.long else self._turn
            reply = await turn.run(partial(self._service.answer, run))
        return Response(reply.body, reply.status, media_type=reply.kind)

    @serve.batch(max_batch_size=BATCH_SIZE, batch_wait_timeout_s=BATCH_WAIT)
    async def _together(self, runs: list[TranslatorRun[Trace]]) -> list[Reply]:
        # Batched runs take a few dozen decoding steps, so they need no cancellation check.
        return await self._turn.run(lambda _: self._service.answer_together(runs))


class Scale(BaseModel):
    """Arguments of `application`.

    Attributes:
        model: path to the model folder, the same on every machine.
        replicas: minimum number of replicas.
        most: maximum number of replicas. The additional replicas run only while many requests wait. Ignored if not
            greater than `replicas`.
        gpus: fraction of a GPU for each replica; 0 means the CPU.
    """

    model: str = str(MODEL)
    replicas: int = 1
    most: int = 0
    gpus: float = 0


def application(scale: Scale) -> serve.Application:
    """Return the model server as a Ray Serve application."""
    growing = scale.most > scale.replicas
    number = (
        {
            "autoscaling_config": AutoscalingConfig(
                min_replicas=scale.replicas, max_replicas=scale.most, target_ongoing_requests=MAX_QUEUE
            )
        }
        if growing
        else {"num_replicas": scale.replicas}
    )
    return Replica.options(
        ray_actor_options={"num_cpus": 1, "num_gpus": scale.gpus}, logging_config=NO_ACCESS_LOG, **number
    ).bind(scale.model)


# Requests are private, so do not log them.
NO_ACCESS_LOG = LoggingConfig(log_level="WARNING", enable_access_log=False)


def start(scale: Scale, host: str, port: int) -> None:
    """Start the server, and return once it answers requests.

    If the Ray cluster has GPUs, each replica gets a GPU or a fraction of one.

    Args:
        scale: model folder and number of replicas.
        host, port: address to listen on.

    Raises:
        AtlasError: RAY_ADDRESS is set, but no cluster at that address accepts this machine.
    """
    replicas = max(scale.replicas, scale.most)
    if address := os.environ.get("RAY_ADDRESS"):
        join(address, logging_level="WARNING")
    else:
        join(
            "local",
            num_cpus=max(replicas, os.cpu_count() or 1),
            object_store_memory=OBJECT_STORE_BYTES,
            include_dashboard=False,
            logging_level="WARNING",
            log_to_driver=False,
        )
    # Ray's own SIGTERM handler prints a stack trace.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    serve.start(
        http_options=HTTPOptions(host=host, port=port, request_timeout_s=ANSWER_TIMEOUT), logging_config=NO_ACCESS_LOG
    )
    gpus = ray.cluster_resources().get("GPU", 0)
    serve.run(application(scale.model_copy(update={"gpus": min(1.0, gpus / replicas)})), name="attention-atlas")


def stop() -> None:
    """Stop the server; stop Ray too if `start` started it."""
    # `serve.shutdown()` would start Ray if it is not running.
    if ray.is_initialized():
        serve.shutdown()
    ray.shutdown()
