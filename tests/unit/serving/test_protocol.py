"""What travels comes back as it was, whatever it holds; and what is no request or no answer is refused."""

from __future__ import annotations

import io
import json
from contextlib import suppress
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties import few, many
from tests.unit.robustness.test_any_text import TEXTS
from transformer.errors import InterventionError, ServerError, TextError
from transformer.running.scoring import Scores
from transformer.serving.answers import ARCHIVE, JSON, Reply, archived, result_of, said
from transformer.serving.protocol import PROTOCOL, RUNS, Request, RequestError, read_words
from transformer.text.vocabulary import Piece
from transformer.values.decoding_settings import METHODS, DecodingSettings
from transformer.values.interventions import MODES, Interventions
from transformer.values.trace import Trace
from transformer.values.translation import LogitLens, Node, SearchTree, TracedTranslation, Translation

ADDRESS = "http://127.0.0.1:1"
IDS = st.lists(st.integers(0, 10**6), max_size=8).map(tuple)
SETTINGS = st.builds(
    DecodingSettings, st.sampled_from(METHODS), st.integers(), st.floats(allow_nan=False), st.floats(allow_nan=False),
    st.integers(), st.floats(allow_nan=False), st.integers(),
)
INTERVENTIONS = st.builds(
    Interventions,
    gates=st.dictionaries(
        st.tuples(st.sampled_from(["encoder", "decoder", "cross"]), st.integers(0, 9), st.integers(0, 9)),
        st.floats(0, 1), max_size=5,
    ),
    mode=st.sampled_from(MODES),
    attention=st.dictionaries(
        st.tuples(st.just("cross"), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)),
        st.dictionaries(st.integers(0, 99), st.floats(0, 0.25), max_size=4), max_size=3,
    ),
    hidden_source=st.sets(st.integers(200, 300), max_size=3).map(tuple),
    hidden_target=st.sets(st.integers(0, 99), max_size=3).map(tuple),
    decoder_mask=st.booleans(), positions=st.booleans(), seed=st.integers(0, 2**40), draw=st.integers(0, 99),
)
VALUES = {
    "text": TEXTS, "target": st.none() | TEXTS | IDS, "details": st.booleans(), "settings": SETTINGS, "prefix": IDS,
    "suppressed": IDS.map(frozenset), "interventions": INTERVENTIONS,
    "variants": st.lists(INTERVENTIONS, max_size=3).map(tuple),
}
REQUESTS = st.sampled_from(sorted(RUNS)).flatmap(lambda run: st.builds(
    Request, TEXTS, st.just(run), st.fixed_dictionaries({name: VALUES[name] for name in RUNS[run]})
))


def same(one: object, other: object) -> bool:
    """Whether two results are of the same kind with the same contents, bit for bit."""
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and one.dtype == other.dtype and np.array_equal(one, other, equal_nan=True)
    if is_dataclass(one):
        return type(one) is type(other) and all(
            same(getattr(one, each.name), getattr(other, each.name)) for each in fields(one)
        )
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if hasattr(one, "items"):
        return one.keys() == other.keys() and all(same(value, other[name]) for name, value in one.items())
    return one == other


def returned(request: Request) -> Request:
    return Request.from_json(read_words(request.to_json()))


@few(100)
@given(REQUESTS)
def test_a_request_arrives_as_it_was_sent(request):
    assert returned(request) == request


@many(2_000)
@given(REQUESTS)
def test_every_request_arrives_as_it_was_sent(request):
    assert returned(request) == request


SENT = json.loads(Request("model", "translate", {
    "text": "A dog.", "settings": DecodingSettings(), "prefix": (), "suppressed": frozenset(),
    "interventions": Interventions(),
}).to_json())


def changed(**arguments: object) -> bytes:
    return json.dumps({**SENT, "arguments": {**SENT["arguments"], **arguments}}).encode()


def without(name: str) -> bytes:
    return json.dumps({key: value for key, value in SENT.items() if key != name}).encode()


@pytest.mark.parametrize("body", [
    b"", b"null", b"[]", b"\xff", b"[" * 100_000, b"{}", without("model"), without("run"), without("arguments"),
    json.dumps({**SENT, "run": "__init__"}).encode(), json.dumps({**SENT, "run": ["trace"]}).encode(),
    json.dumps({**SENT, "arguments": []}).encode(), json.dumps({**SENT, "run": "score"}).encode(),
    changed(more=1), changed(text=None), changed(text=["A dog."]), changed(prefix="abc"), changed(prefix=[1.5]),
    changed(prefix=[True]), changed(suppressed={"1": 2}), changed(settings={}), changed(settings=None),
    changed(settings={**SENT["arguments"]["settings"], "beam_size": "4"}),
    changed(settings={**SENT["arguments"]["settings"], "temperature": None}),
    changed(interventions=None), changed(interventions={"gate": 1}), changed(interventions={"hidden_source": ["a"]}),
    changed(interventions={"gates": [1]}), changed(interventions={"positions": []}),
    changed(interventions={"decoder_mask": "false"}),
], ids=lambda body: body[:40].decode("latin-1"))
def test_what_is_no_request_is_refused(body):
    with pytest.raises(RequestError):
        Request.from_json(read_words(body))


def test_interventions_that_contradict_themselves_are_said():
    with pytest.raises(InterventionError, match="gate"):
        Request.from_json(read_words(changed(interventions={"gates": [[["cross", 0, 0], 7]]})))


OFF = Interventions(gates={("cross", 0, 1): 0.0, ("encoder", 1, 2): 0.5})
HOSTILE = "<b>&amp;ﷺ \ud800 ▁\x00\u202eמה </s> 🙂"
RESULTS = {
    "translate": lambda model: model.translate(
        "The old man reads.", DecodingSettings("beam", beam_size=3), prefix=[300, 301], suppressed={5, 3},
    ),
    "translate_variants": lambda model: model.translate_variants(HOSTILE, [OFF, Interventions()]),
    "trace": lambda model: model.trace(HOSTILE, "Ein \ud800 Hund 🙂", details=True, interventions=OFF),
    "trace_decoding": lambda model: model.trace_decoding(HOSTILE, DecodingSettings("beam", beam_size=3)),
    "score": lambda model: model.score(HOSTILE, None, [OFF, Interventions()]),
    "gate_gradients": lambda model: model.gate_gradients("A dog.", "Ein Hund."),
}


@pytest.mark.parametrize("run", RUNS)
def test_a_result_arrives_as_it_was_sent(small_translator, run):
    sent = RESULTS[run](small_translator)
    reply = archived("a model", run, sent)
    assert same(result_of(reply, ADDRESS, "a model", run), sent)


def test_plain_traces_and_sampled_translations_travel_too(small_translator):
    plain = small_translator.trace(HOSTILE)
    sampled = small_translator.trace_decoding("A dog.", DecodingSettings("sample"))
    assert same(result_of(archived("m", "trace", plain), ADDRESS, "m", "trace"), plain)
    assert same(result_of(archived("m", "trace_decoding", sampled), ADDRESS, "m", "trace_decoding"), sampled)


def compressed() -> bytes:
    """A megabyte of numbers in a kilobyte."""
    file, zeros = io.BytesIO(), np.zeros(2**17)
    words = json.dumps({"protocol": PROTOCOL, "model": "m", "run": "score"}).encode()
    names = ("baseline", "log_prob", "change", "kl", "entropy")
    np.savez_compressed(file, answer=np.frombuffer(words, dtype=np.uint8), **dict.fromkeys(names, zeros))
    return file.getvalue()


def pickled() -> bytes:
    file = io.BytesIO()
    words = json.dumps({"protocol": PROTOCOL, "model": "m", "run": "score"}).encode()
    np.savez(file, answer=np.frombuffer(words, dtype=np.uint8), baseline=np.array([{"an": "object"}], dtype=object))
    return file.getvalue()


@pytest.mark.parametrize("reply", [
    Reply(200, ARCHIVE, b""), Reply(200, ARCHIVE, b"PK\x03\x04"), Reply(200, ARCHIVE, pickled()),
    Reply(200, ARCHIVE, compressed()),
    Reply(200, JSON, b"<html>"), Reply(200, JSON, b"[]"), Reply(200, JSON, b"{}"), said("m"),
    said("m", error=["TextError"]), said("m", error="TextError"),
], ids=lambda reply: repr(reply.body[:20]))
def test_what_is_no_answer_is_said_in_one_line(reply):
    with pytest.raises(ServerError, match=f"^What answers at {ADDRESS} is no model's server .*$"):
        result_of(reply, ADDRESS, "m", "score")


@few(150)
@given(st.data())
def test_a_damaged_answer_is_an_answer_or_refused(data):
    numbers = np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3)
    body = bytearray(archived("m", "score", Scores(numbers[0], numbers, numbers, numbers, numbers)).body)
    for at in data.draw(st.lists(st.integers(0, len(body) - 1), max_size=4)):
        body[at] ^= data.draw(st.integers(1, 255))
    cut = bytes(body[: data.draw(st.integers(0, len(body)) | st.just(len(body)))])
    with suppress(ServerError):
        assert isinstance(result_of(Reply(200, ARCHIVE, cut), ADDRESS, "m", "score"), Scores)


def test_errors_are_raised_as_what_they_were():
    for error in (TextError("too long"), InterventionError("no head"), ValueError("beam")):
        with pytest.raises(type(error), match=str(error)) as raised:
            result_of(said("m", 422, error=type(error).__name__, message=str(error)), ADDRESS, "m", "trace")
        assert type(raised.value) is type(error)
    with pytest.raises(ServerError, match="failed"):
        result_of(said("m", 500, error="KeyError", message="it failed"), ADDRESS, "m", "trace")


def test_another_protocol_and_another_model_are_said_in_one_line():
    newer = json.dumps({"protocol": PROTOCOL + 1, "model": "m", "what": "nobody knows yet"}).encode()
    versions = f"speaks version {PROTOCOL + 1} of the protocol, and this app version {PROTOCOL}"
    with pytest.raises(ServerError, match=f"^The model's server at .* {versions}: .*$"):
        result_of(Reply(200, JSON, newer), ADDRESS, "m", "trace")
    with pytest.raises(ServerError, match="^The model's server at .* has the model other, and this app wants m: .*$"):
        result_of(said("other"), ADDRESS, "m", "trace")


# What version 1 sends: whoever changes a field of these, or what it means, counts PROTOCOL up.
FIELDS = {
    DecodingSettings: "method beam_size length_penalty temperature top_k top_p seed",
    Interventions: "gates mode attention hidden_source hidden_target decoder_mask positions seed draw",
    Piece: "id text span role",
    Trace: "source_text target_text source_pieces target_pieces predicted_pieces complete encoder decoder cross "
    "encoder_mask decoder_mask cross_mask log_probs entropy candidate_ids candidate_log_probs details interventions "
    "model",
    Translation: "settings prefix suppressed pieces text log_prob complete seconds tree",
    Node: "parent step row piece log_prob rank score penalised place fate",
    SearchTree: "nodes cutoffs best decoder cross",
    LogitLens: "candidate_ids candidate_log_probs taken",
    TracedTranslation: "translation trace ranks logit_lens",
    Scores: "baseline log_probs kl tvd ranks",
}


@pytest.mark.parametrize("kind", FIELDS)
def test_what_travels_is_what_this_version_of_the_protocol_says(kind):
    assert PROTOCOL == 1 and [each.name for each in fields(kind)] == FIELDS[kind].split()
