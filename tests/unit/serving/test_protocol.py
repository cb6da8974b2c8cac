"""Tests that requests and results survive the wire format, and that invalid ones are rejected."""

import json
from contextlib import suppress
from dataclasses import fields, is_dataclass

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties import few, many
from tests.unit.robustness.test_any_text import TEXTS
from transformer.errors import InterventionError, ServerError, TextError
from transformer.running.runs.scores import ComparisonRun, ContrastsRun, GateGradientsRun, ScoresRun
from transformer.running.runs.trace import TraceRun
from transformer.running.runs.translation import DecodingRun, TranslationRun, VariantsRun
from transformer.running.scoring import Comparison, Scores
from transformer.running.translator_run import TranslatorRun
from transformer.serving.answers import ARCHIVE, JSON, Reply, archive_reply, json_reply, result_of
from transformer.serving.protocol import PROTOCOL, RequestError, read_run, request
from transformer.values.decoding_settings import (
    MAX_BEAM_SIZE,
    MAX_LENGTH_PENALTY,
    MAX_SEED,
    MAX_TEMPERATURE,
    METHODS,
    MIN_TEMPERATURE,
    DecodingSettings,
)
from transformer.values.interventions import MODES, Interventions
from transformer.values.patches import PATCH_SITES
from transformer.values.tokens import Token
from transformer.values.trace import Trace
from transformer.values.translation import BeamNode, LogitLens, SearchTree, TracedTranslation, Translation

ADDRESS = "http://127.0.0.1:1"
IDS = st.lists(st.integers(0, 10**6), max_size=8).map(tuple)
SETTINGS = st.builds(
    DecodingSettings,
    st.sampled_from(METHODS),
    st.integers(1, MAX_BEAM_SIZE),
    st.floats(0, MAX_LENGTH_PENALTY),
    st.floats(MIN_TEMPERATURE, MAX_TEMPERATURE),
    st.integers(0),
    st.floats(0, 1, exclude_min=True),
    st.integers(0, MAX_SEED),
)
INTERVENTIONS = st.builds(
    Interventions,
    gates=st.dictionaries(
        st.tuples(st.sampled_from(["encoder", "decoder", "cross"]), st.integers(0, 9), st.integers(0, 9)),
        st.floats(0, 1),
        max_size=5,
    ),
    mode=st.sampled_from(MODES),
    attention=st.dictionaries(
        st.tuples(st.just("cross"), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)),
        st.dictionaries(st.integers(0, 99), st.floats(0, 0.25), max_size=4),
        max_size=3,
    ),
    hidden_source=st.sets(st.integers(200, 300), max_size=3).map(tuple),
    hidden_target=st.sets(st.integers(0, 99), max_size=3).map(tuple),
    decoder_mask=st.booleans(),
    positions=st.booleans(),
    seed=st.integers(0, 2**40),
    draw=st.integers(0, 99),
    patches=st.dictionaries(
        st.tuples(st.sampled_from(PATCH_SITES), st.integers(0, 9), st.just(0), st.integers(0, 99)),
        st.integers(0, 99),
        max_size=3,
    ),
    other=st.tuples(IDS, IDS),
)
VARIANTS = st.lists(INTERVENTIONS, max_size=3).map(tuple)
TARGETS = st.none() | TEXTS | IDS
DECODED = TEXTS, SETTINGS, IDS, IDS.map(frozenset), INTERVENTIONS
RUNS = st.one_of(
    st.builds(TranslationRun, *DECODED),
    st.builds(DecodingRun, *DECODED),
    st.builds(VariantsRun, TEXTS, VARIANTS),
    st.builds(TraceRun, TEXTS, TARGETS, st.booleans(), INTERVENTIONS),
    st.builds(ScoresRun, TEXTS, TARGETS, VARIANTS),
    st.builds(ComparisonRun, TEXTS, TARGETS, VARIANTS, st.booleans()),
    st.builds(GateGradientsRun, TEXTS, TARGETS),
    st.builds(ContrastsRun, TEXTS, IDS, st.integers(0, 9), st.tuples(*2 * [st.integers(0, 10**6)]), VARIANTS),
)


def same(one: object, other: object) -> bool:
    """Return whether two results have the same types and equal values."""
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


@few(100)
@given(RUNS)
def test_request_survives_the_wire_format(run):
    assert read_run(request(run, "a model")) == run


@many(2_000)
@given(RUNS)
def test_every_kind_of_request_survives_the_wire_format(run):
    assert read_run(request(run, "a model")) == run


SENT = json.loads(request(TranslationRun("A dog."), "model"))


def changed(**fields: object) -> bytes:
    return json.dumps({**SENT, "run": {**SENT["run"], **fields}}).encode()


def without(name: str) -> bytes:
    return json.dumps({key: value for key, value in SENT.items() if key != name}).encode()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        b"{}",
        without("run"),
        json.dumps({**SENT, "run": []}).encode(),
        changed(run="__init__"),
        changed(run=["TraceRun"]),
        changed(run="EffectRun"),
        changed(run="ScoresRun"),
        changed(more=1),
        changed(text=None),
        changed(text=["A dog."]),
        changed(prefix="abc"),
        changed(prefix=[1.5]),
        changed(prefix=[True]),
        changed(suppressed={"1": 2}),
        changed(settings={}),
        changed(settings=None),
        changed(settings={**SENT["run"]["settings"], "beam_size": "4"}),
        changed(settings={**SENT["run"]["settings"], "temperature": None}),
        changed(interventions=None),
        changed(interventions={"gate": 1}),
        changed(interventions={"hidden_source": ["a"]}),
        changed(interventions={"gates": [1]}),
        changed(interventions={"positions": []}),
        changed(interventions={"decoder_mask": "false"}),
    ],
    ids=lambda body: body[:40].decode("latin-1"),
)
def test_invalid_request_is_rejected(body):
    with pytest.raises(RequestError):
        read_run(body)


def test_intervention_with_a_gate_out_of_range_is_rejected():
    with pytest.raises(InterventionError, match="gate"):
        read_run(changed(interventions={"gates": [[["cross", 0, 0], 7]]}))


OFF = Interventions(gates={("cross", 0, 1): 0.0, ("encoder", 1, 2): 0.5})
UNTRUSTED = "<b>&amp;ﷺ \ud800 ▁\x00\u202eמה </s> 🙂"
BEAM = DecodingSettings("beam", beam_size=3)
SENT_RUNS = (
    TranslationRun("The old man reads.", BEAM, (300, 301), frozenset({5, 3})),
    VariantsRun(UNTRUSTED, (OFF, Interventions())),
    TraceRun(UNTRUSTED, "Ein \ud800 Hund 🙂", True, OFF),
    TraceRun(UNTRUSTED),
    DecodingRun(UNTRUSTED, BEAM),
    DecodingRun("A dog.", DecodingSettings("sample")),
    ScoresRun(UNTRUSTED, None, (OFF, Interventions())),
    ComparisonRun(UNTRUSTED, None, (OFF, Interventions()), True),
    GateGradientsRun("A dog.", "Ein Hund."),
    ContrastsRun(
        "A dog.",
        (300, 301),
        1,
        (5, 6),
        (OFF, Interventions(patches={("encoder.residual", 1, 0, 0): 0}, other=((7, 3), (2, 8)))),
    ),
)


@pytest.mark.parametrize("run", SENT_RUNS, ids=lambda run: type(run).__name__)
def test_result_survives_the_wire_format(small_translator, run):
    sent = small_translator.get(run)
    assert same(result_of(archive_reply("a model", run, sent), ADDRESS, "a model", run), sent)


def test_protocol_tests_cover_every_kind_of_run():
    assert {type(run) for run in SENT_RUNS} == {*TranslatorRun.__subclasses__()}


def written(result: object) -> bytes:
    return msgspec.msgpack.encode({"protocol": PROTOCOL, "model": "m", "run": "ScoresRun", "result": result})


def arrays(*array: object) -> bytes:
    return written(dict.fromkeys(("baseline", "log_probs", "kl", "tvd", "ranks"), array))


SCORES = ScoresRun("A dog.", None, ())


@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, ARCHIVE, b""),
        Reply(200, ARCHIVE, b"PK\x03\x04"),
        Reply(200, ARCHIVE, written({})),
        Reply(200, ARCHIVE, arrays("|O", [1], bytes(8))),
        Reply(200, ARCHIVE, arrays("<U4", [1], bytes(16))),
        Reply(200, ARCHIVE, arrays("<f4", [2**40], bytes(8))),
        Reply(200, ARCHIVE, arrays("<f4", [2], "text")),
        Reply(200, JSON, b"<html>"),
        Reply(200, JSON, b"[]"),
        Reply(200, JSON, b"{}"),
        json_reply("m"),
        json_reply("m", error=["TextError"]),
    ],
    ids=lambda reply: repr(reply.body[:20]),
)
def test_invalid_response_is_reported_in_one_line(reply):
    with pytest.raises(ServerError, match=f"^{ADDRESS} is not an Attention Atlas model server, .*$"):
        result_of(reply, ADDRESS, "m", SCORES)


@few(150)
@given(st.data())
def test_damaged_response_is_parsed_or_rejected(data):
    numbers = np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3)
    body = bytearray(archive_reply("m", SCORES, Scores(numbers[0], numbers, numbers, numbers, numbers)).body)
    for at in data.draw(st.lists(st.integers(0, len(body) - 1), max_size=4)):
        body[at] ^= data.draw(st.integers(1, 255))
    cut = bytes(body[: data.draw(st.integers(0, len(body)) | st.just(len(body)))])
    with suppress(ServerError):
        assert isinstance(result_of(Reply(200, ARCHIVE, cut), ADDRESS, "m", SCORES), Scores)


def test_errors_are_raised_with_their_original_type():
    for error in (TextError("too long"), InterventionError("no head"), ValueError("beam")):
        with pytest.raises(type(error), match=str(error)) as raised:
            result_of(
                json_reply("m", 422, error=type(error).__name__, message=str(error)), ADDRESS, "m", TraceRun("A dog.")
            )
        assert type(raised.value) is type(error)
    with pytest.raises(ServerError, match="failed"):
        result_of(json_reply("m", 500, error="KeyError", message="it failed"), ADDRESS, "m", TraceRun("A dog."))


def test_mismatched_protocol_or_model_is_reported_in_one_line():
    newer = json.dumps({"protocol": PROTOCOL + 1, "model": "m", "what": "nobody knows yet"}).encode()
    versions = f"uses version {PROTOCOL + 1} of the protocol, but this app uses version {PROTOCOL}"
    with pytest.raises(ServerError, match=f"^The model server at .* {versions}: .*$"):
        result_of(Reply(200, JSON, newer), ADDRESS, "m", TraceRun("A dog."))
    with pytest.raises(ServerError, match="^The model server at .* has the model other, but this app needs m: .*$"):
        result_of(json_reply("other"), ADDRESS, "m", TraceRun("A dog."))


# Message fields of protocol version 7. Increase PROTOCOL whenever a field or its meaning changes.
FIELDS = {
    TranslationRun: "text settings prefix suppressed interventions",
    DecodingRun: "text settings prefix suppressed interventions",
    VariantsRun: "text variants",
    TraceRun: "text target details interventions",
    ScoresRun: "text target variants",
    ContrastsRun: "text target step tokens variants",
    ComparisonRun: "text target variants details",
    GateGradientsRun: "text target",
    DecodingSettings: "method beam_size length_penalty temperature top_k top_p seed",
    Interventions: "gates mode attention hidden_source hidden_target decoder_mask positions seed draw patches other",
    Token: "id text span role",
    Trace: "source_text target_text source_tokens target_tokens predicted_tokens complete encoder decoder cross "
    "encoder_mask decoder_mask cross_mask log_probs entropy candidate_ids candidate_log_probs details interventions "
    "model",
    Translation: "settings prefix suppressed tokens text log_prob complete seconds tree beginning",
    BeamNode: "parent step row token log_prob rank score penalised place fate",
    SearchTree: "nodes cutoffs best decoder cross",
    LogitLens: "candidate_ids candidate_log_probs taken",
    TracedTranslation: "translation trace ranks logit_lens",
    Scores: "baseline log_probs kl tvd ranks",
    Comparison: "before after scores",
}


@pytest.mark.parametrize("kind", FIELDS)
def test_changing_the_fields_of_a_message_requires_a_new_protocol_version(kind):
    assert PROTOCOL == 7 and [each.name for each in fields(kind)] == FIELDS[kind].split()
