"""Tests that a translator with a remote model behaves like a local one, and reports an unreachable server in one
line.
"""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.model_server import Broken, model_server
from tests.unit.serving.test_protocol import OFF, UNTRUSTED, same
from transformer.ablation.continuation import RereadRun
from transformer.ablation.effect import effect_of
from transformer.ablation.importance import head_importance
from transformer.errors import InterventionError, ServerError, TextError
from transformer.running.runs.attribution import AttributionRun
from transformer.running.runs.metrics import MetricsRun
from transformer.running.runs.trace import TraceRun
from transformer.running.runs.translation import DecodingRun, TranslationRun
from transformer.serving.answers import Reply, json_reply
from transformer.serving.client import RemoteTranslator
from transformer.serving.fair_lock import DisconnectedError
from transformer.serving.service import Service
from transformer.values.cancellation import cancellable
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.interventions import Interventions

GONE = "^The model server at .* does not answer .*$"
BEAM = DecodingSettings("beam", beam_size=3)


class Mortal(Service):
    """A service whose replica dies a given number of times."""

    deaths = 0

    def answer(self, run, between_steps=None):
        if self.deaths:
            self.deaths -= 1
            raise Broken
        return super().answer(run, between_steps)


@pytest.fixture(scope="module")
def service(small_translator):
    return Mortal(small_translator)


@pytest.fixture(scope="module")
def remote(service, model_folder):
    with model_server(service) as address:
        yield RemoteTranslator(address, model_folder, "cpu")


def test_remote_model_has_the_same_properties_as_a_local_model(remote, small_translator):
    for name in ("config", "card", "languages", "curve", "device", "version", "folder", "parameters", "means"):
        assert getattr(remote, name) == getattr(small_translator, name), name
    assert remote.tokenizer.fingerprint == small_translator.tokenizer.fingerprint


@pytest.mark.parametrize(
    "run",
    [
        lambda model: model.trace("The dog."),
        lambda model: model.trace(UNTRUSTED, UNTRUSTED, details=True, interventions=OFF),
        lambda model: model.trace_decoding("The dog.", BEAM, prefix=[300], suppressed={4}),
        lambda model: model.translate_variants("The dog.", [OFF]),
        lambda model: model.score("The dog.", None, [OFF, Interventions()]),
        lambda model: model.compare("The dog.", "Der Hund.", [OFF, Interventions()]),
        lambda model: model.gate_gradients("The dog.", [300, 3]),
        lambda model: effect_of(model, "The dog.", OFF),
        lambda model: head_importance(model, "The dog."),
        lambda model: model.get(MetricsRun(RereadRun(TraceRun("The dog."), OFF), "cross")).values,
        lambda model: model.get(AttributionRun(TraceRun("The dog."), "erasure")),
    ],
    ids=[
        "plain",
        "details",
        "decoding",
        "variants",
        "score",
        "compare",
        "gradients",
        "effect",
        "importance",
        "metrics",
        "attribution",
    ],
)
def test_local_and_remote_runs_give_the_same_result(remote, small_translator, run):
    there, here = run(remote), run(small_translator)
    if hasattr(there, "translation"):
        there, here = there.trace, here.trace
    assert same(there, here)


def test_remote_and_local_translations_differ_only_in_duration(remote, small_translator):
    there, here = (model.translate("The dog.", BEAM, interventions=OFF) for model in (remote, small_translator))
    assert (there.tokens, there.text, there.log_prob) == (here.tokens, here.text, here.log_prob)


def test_results_that_need_the_weights_are_computed_locally_on_demand(service, remote, small_translator):
    with model_server(service) as address:
        fresh = RemoteTranslator(address, remote.folder, "cpu")
    trace = small_translator.trace("The dog.", details=True)
    assert fresh._loaded is None, "and the server is gone by now"
    assert same(dict(fresh.weights().arrays), dict(small_translator.weights().arrays))
    found = [model.attribute(trace, "frozen_gradient") for model in (fresh, small_translator)]
    assert same(*found)
    assert same(*(model.deletion_curves(trace, found[0], [0, 1]) for model in (fresh, small_translator)))


def test_each_of_many_concurrent_requests_gets_its_own_response(remote, small_translator):
    texts = [f"{'The old man reads ' * (number % 5)}{number}." for number in range(8)]
    with ThreadPoolExecutor(8) as people:
        found = list(people.map(remote.trace, texts))
    assert all(same(trace, small_translator.trace(text)) for trace, text in zip(found, texts, strict=True))


def test_batch_with_an_invalid_text_still_returns_the_other_results(remote, small_translator):
    found = {}
    remote.trace_together(["A dog.", " ", "The old man."], found.__setitem__)
    assert same(found[0], small_translator.trace("A dog.")) and same(found[2], small_translator.trace("The old man."))
    assert isinstance(found[1], TextError)


def test_batched_requests_get_the_same_responses_as_single_requests(service):
    runs = [TraceRun(text) for text in ("A dog.", " ", "The old man reads a book.")]
    assert all(run.plain for run in runs)
    assert service.answer_together(runs) == [service.answer(run) for run in runs]


def test_remote_model_reports_an_invalid_text_like_a_local_model(remote, small_translator):
    for model in (remote, small_translator):
        with pytest.raises(TextError, match="Type a sentence"):
            model.trace(" ")
        with pytest.raises(InterventionError, match="no head"):
            model.trace("A dog.", interventions=Interventions(gates={("cross", 99, 0): 0.0}))
        with pytest.raises(ValueError, match="beam"):
            model.translate("A dog.", DecodingSettings("beam", beam_size=99))


def test_client_retries_when_a_replica_dies(service, remote):
    service.deaths = 2
    assert remote.trace("A dog.").source_text == "A dog."
    assert service.deaths == 0


def test_server_that_fails_every_request_is_reported_as_unreachable(service, remote):
    service.deaths = 99
    with pytest.raises(ServerError, match=GONE):
        remote.trace("A dog.")
    service.deaths = 0


def test_unreachable_server_is_reported_until_it_returns(service, model_folder):
    with model_server(service) as address:
        remote = RemoteTranslator(address, model_folder, "cpu")
        before = remote.trace("A dog.")
    for _ in range(2):
        with pytest.raises(ServerError, match=GONE):
            remote.trace("A dog.")
    with pytest.raises(ServerError, match=GONE):
        RemoteTranslator(address, model_folder, "cpu")
    with model_server(service, int(address.rpartition(":")[2])):
        assert same(remote.trace("A dog."), before)


def test_cancelled_caller_does_not_wait_for_the_response(small_translator, model_folder):
    asked, go_on = threading.Event(), threading.Event()

    class Slow(Service):
        def answer(self, run, between_steps=None):
            asked.set()
            go_on.wait(20)
            return super().answer(run, between_steps)

    class Left(Exception):
        pass

    def leave():
        if asked.is_set():
            raise Left

    with model_server(Slow(small_translator)) as address:
        remote = RemoteTranslator(address, model_folder, "cpu")
        for run in (
            lambda: remote.translate("A dog.", BEAM),
            lambda: remote.trace_decoding("A dog.", BEAM),
            lambda: remote.trace("A dog."),
            lambda: remote.gate_gradients("A dog.", None),
        ):
            asked.clear()
            with pytest.raises(Left), cancellable(leave):
                run()
        go_on.set()
        with cancellable(lambda: None):
            found = remote.translate("A dog.", BEAM)
    assert found.text == small_translator.translate("A dog.", BEAM).text


@pytest.mark.parametrize("kind", [TranslationRun, DecodingRun])
def test_run_without_a_waiting_client_is_cancelled(service, kind):
    run = kind("The dog.", BEAM, interventions=OFF)
    steps = []
    assert service.answer(run, lambda: steps.append(1)).status == 200 and steps

    def left() -> None:
        raise DisconnectedError

    with pytest.raises(DisconnectedError):
        service.answer(run, left)


@pytest.mark.parametrize("words", [{}, {"device": ""}, {"device": None}, {"device": ["cpu"]}], ids=str)
def test_server_that_does_not_name_its_device_is_rejected(small_translator, model_folder, words):
    class Speechless(Service):
        def parse(self, method: str, path: str, body: bytes) -> Reply:
            return json_reply(small_translator.version, **words)

    with (
        model_server(Speechless(small_translator)) as address,
        pytest.raises(ServerError, match="is not an Attention Atlas model server, .*device"),
    ):
        RemoteTranslator(address, model_folder, "cpu")


def test_server_with_a_different_model_is_rejected(small_translator, copying_translator, model_folder):
    with model_server(Service(copying_translator)) as address, pytest.raises(ServerError, match="has the model"):
        RemoteTranslator(address, model_folder, "cpu")
    with model_server(Service(small_translator)) as address:
        remote = RemoteTranslator(address, model_folder, "cpu")
    message = "start the server with the same model folder"
    with (
        model_server(Service(copying_translator), int(address.rpartition(":")[2])),
        pytest.raises(ServerError, match=message),
    ):
        remote.trace("A dog.")


@pytest.mark.parametrize(
    "address",
    [
        "",
        "127.0.0.1:8600",
        "ftp://127.0.0.1",
        "http://",
        "http://host:port",
        "http://model..lan:8600",
        f"http://{'m' * 64}.lan:8600",
        "http://127.0.0.1:8600/modèle",
    ],
)
def test_invalid_model_server_url_is_reported(model_folder, address):
    with pytest.raises(ServerError, match="is not the address of a model server: enter a URL such as"):
        RemoteTranslator(address, model_folder, "cpu")


def test_model_server_answers_invalid_requests_with_an_error_status(service):
    for method, path, body, status in (
        ("GET", "/", b"", 404),
        ("POST", "/identity", b"", 404),
        ("DELETE", "/run", b"", 404),
        ("POST", "/run", b"{}", 409),
        ("POST", "/run", b'{"protocol": 0}', 409),
        ("POST", "/run", b"?", 422),
        ("POST", "/run", None, 422),
    ):
        assert service.parse(method, path, body).status == status


def test_remote_run_with_hooks_is_rejected(remote):
    with pytest.raises(InterventionError, match="cannot be sent to a server: load the model here"):
        remote.trace("The dog.", hooks={"encoder.scores": lambda x, layer, start: None})
