"""Records of a model that something happened to: each is refused with one clear message, or its page can show it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.ui.compare_heads.all_heads import _worth_map, head_table, says_worth
from pages.ui.gallery.exhibits import sentence
from pages.ui.measured.recorded import AGREEMENT, GALLERY, IMPORTANCE, REMOVAL, STATISTICS, Recording, read_record
from pages.ui.params.attention import AttentionParams
from pages.ui.switch_heads_off.removal import quality_table, removal_chart, says_quality
from pages.ui.text.head_link import HeadLink
from pages.ui.what_mattered.over_many import recorded_table, says_over_many
from pages.ui.what_mattered.square import square_chart
from tests.properties import few, many
from transformer.analysis.heads.gallery import Gallery
from transformer.analysis.heads.metrics import HeadMetrics
from transformer.analysis.heads.statistics import Statistics
from transformer.analysis.heads.tasks import TASK
from transformer.surveys.agreement import AgreementStatistics
from transformer.surveys.importance import ImportanceStatistics
from transformer.surveys.removal import RemovalQuality
from transformer.text.languages import LANGUAGES
from transformer.values.kinds import KINDS, Kind


@cache
def written(recording: Recording[Any]) -> str:
    return recording.path.read_text(encoding="utf-8")


@cache
def here() -> dict[Kind, HeadMetrics]:
    """Of a sentence, beside which the page shows what is recorded."""
    return dict(STATISTICS.read(written(STATISTICS)).heads)


def show_statistics(record: Statistics) -> None:
    # As on the page, which reads another text: its own table has every metric.
    head_table(here(), record)


def show_gallery(record: Gallery) -> None:
    shown = []
    for exhibit in record.exhibits:
        shown.append([*TASK[exhibit.task].described(LANGUAGES), f"{exhibit.share:.0%} {exhibit.everyone:.0%}",
                      f"{exhibit.rows:,} {HeadLink(exhibit.kind, exhibit.layer, exhibit.head)}"])
        for example in exhibit.examples:
            choice = AttentionParams(exhibit.layer, exhibit.head, rows=example.rows, columns=example.columns)
            shown.append([sentence(exhibit, example, LANGUAGES), choice.to_address(), exhibit.examples[0].text])
    json.dumps(shown, ensure_ascii=False, allow_nan=False).encode()


def show_importance(record: ImportanceStatistics) -> None:
    head_table(here(), None, record)
    assert says_worth(record) and all(_worth_map(record, kind).to_dict() for kind in KINDS)


def show_removal(record: RemovalQuality) -> None:
    assert says_quality(record)
    for score in ("BLEU", "chrF"):
        removal_chart(quality_table(record, score), score).to_dict()


def show_agreement(record: AgreementStatistics) -> None:
    assert says_over_many(record) and f"{record.words:.1f}"
    square_chart(record.methods, recorded_table(record), []).to_dict()


SHOWN: dict[str, tuple[Recording[Any], Callable[[Any], None]]] = {
    "statistics": (STATISTICS, show_statistics), "gallery": (GALLERY, show_gallery),
    "importance": (IMPORTANCE, show_importance), "removal": (REMOVAL, show_removal),
    "agreement": (AGREEMENT, show_agreement),
}
NAMES = st.sampled_from(sorted(SHOWN))
VALUES = st.sampled_from([
    None, True, "", "x", "8", -1, 0, 1, 2.5, 99, 10**30, 10**400, 1e308, -1e308, float("nan"), float("inf"), [], {},
    [0.5], [[0.5]], [[]], [None], {"mean": 0.5}, "\ud800", "renamed",
])
DAMAGES = ("replace", "replace", "replace", "rename", "remove", "empty", "shorten", "twice", "neighbour")


@st.composite
def damages(draw: st.DrawFn) -> tuple[list[float], str, Any]:
    """What happens to one value, as a tuple that a failure prints: the way to it, the kind, what takes its place."""
    way = draw(st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=7))
    return way, draw(st.sampled_from(DAMAGES)), draw(VALUES)


def damaged(document: Any, way: list[float], kind: str, value: Any) -> None:
    """Do it to a document: each number of the way chooses one of the children, until it ends or there are none."""
    at = document
    for step in way:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        if not keys:
            return
        parent, key = at, keys[int(step * len(keys))]
        at = parent[key]
        if not isinstance(at, dict | list):
            break
    if kind == "remove":
        parent.pop(key)
    elif kind == "rename" and isinstance(parent, dict):
        parent["renamed"] = parent.pop(key)
    elif kind == "empty" and isinstance(at, dict | list):
        at.clear()
    elif kind == "shorten" and isinstance(at, list):
        del at[len(at) // 2 :]
    elif kind == "twice" and isinstance(at, list):
        at += at
    elif kind == "neighbour":
        # The same kind of thing, of another place.
        parent[key] = parent[keys[(keys.index(key) + 1) % len(keys)]]
    else:
        parent[key] = value


def refused_or_shown(name: str, what: list[tuple[list[float], str, Any]]) -> None:
    recording, show = SHOWN[name]
    document = json.loads(written(recording))
    for each in what:
        damaged(document, *each)
    try:
        record = recording.read(json.dumps(document))
    except ValueError as error:
        assert "\n" not in str(error) and 10 < len(str(error)) < 600, error
        return
    show(record)


WHAT = st.lists(damages(), min_size=1, max_size=3)
test_a_damaged_record = few(150)(given(name=NAMES, what=WHAT)(refused_or_shown))
test_two_thousand_damaged_records = many(2000)(given(name=NAMES, what=WHAT)(refused_or_shown))


@pytest.mark.parametrize("name", SHOWN)
def test_what_ships_is_read_and_shown_as_it_was_written(name):
    recording, show = SHOWN[name]
    record = recording.read(written(recording))
    assert json.loads(record.to_json()) == json.loads(written(recording))
    show(record)


@pytest.mark.parametrize(("name", "way", "value", "message"), [
    ("gallery", ["exhibits", 0, "task"], "renamed_task", r"no task 'renamed_task' .* - at `\$.exhibits\[0\]`"),
    ("gallery", ["exhibits", 0, "kind"], "cross", "there is no task .* of cross attention"),
    ("gallery", ["exhibits", 0, "examples"], [], r"length >= 1 - at `\$.exhibits\[0\].examples`"),
    ("gallery", ["exhibits", 0, "examples", 1, "looked_at"], 99, r"looked_at is 99, of .* - at `\$.*examples\[1\]`"),
    ("gallery", ["exhibits", 0, "examples", 1, "weights"], [1.0], "and 1 weights"),
    ("gallery", ["exhibits", 0, "examples", 1, "text"], "\ud800", "surrogate"),
    ("removal", ["points", 0, "removed"], "x", r"Expected `int`, got `str` - at `\$.points\[0\].removed`"),
    ("removal", ["points", 0, "removed"], 5, "the heads removed in the order measured are .*; they must rise from 0"),
    ("removal", ["points", 0, "order"], "mine", "the heads removed in the order measured are"),
    ("removal", ["points", 1, "bleu"], float("nan"), "JSON is malformed"),
    ("agreement", ["methods", 0], "renamed", "methods has 'renamed'; they must be of: weights, norms"),
    ("agreement", ["methods", 0], "erasure", "methods has one of its entries twice"),
    ("agreement", ["words"], "x", r"Expected `float`, got `str` - at `\$.words`"),
    ("agreement", ["tau", "low"], [[0.5]], r"tau.low has the shape \(1, 1\); it must be \(7, 7\)"),
    ("statistics", ["kinds", "encoder", "values", "confidence"], [[0.5]], r"values.confidence has the shape \(1, 1\)"),
    ("statistics", ["kinds", "cross"], {}, r"missing required field `values` - at `\$.kinds\[...\]`"),
    ("statistics", ["kinds"], [], "Expected `object`, got `array`"),
    ("importance", ["kinds", "cross", "measured", "mean"], [[0.5]], "do not fit each other"),
    ("importance", ["mode"], "off", "Invalid enum value 'off'"),
    ("importance", ["sentences"], 10**400, "Expected `int` <= "),
])
def test_what_is_wrong_is_named(tmp_path, name, way, value, message):
    recording, _ = SHOWN[name]
    document = json.loads(written(recording))
    *parents, key = way
    parent = document
    for step in parents:
        parent = parent[step]
    parent[key] = value
    text = json.dumps(document)
    with pytest.raises(ValueError, match=message):
        recording.read(text)
    (tmp_path / "record.json").write_text(text, encoding="utf-8")
    assert read_record(tmp_path / "record.json", recording.read) is None


@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.parametrize("text", ["", "7", "null", "[" * 100_000, "{}", '{"model": 1' + "0" * 5000 + "}"], ids=len)
def test_what_is_no_record_is_refused(name, text):
    with pytest.raises(ValueError, match=r"."):
        SHOWN[name][0].read(text)


def test_heads_of_two_models_are_refused():
    document = json.loads(written(STATISTICS))
    for values in document["kinds"]["decoder"]["values"].values():
        values.pop()
    with pytest.raises(ValueError, match="do not fit each other: .*'decoder': \\(5, 8\\)"):
        Statistics.from_json(json.dumps(document))


def test_a_metric_that_is_newer_than_the_record_is_missing_and_those_that_name_heads_are_not():
    document = json.loads(written(STATISTICS))
    encoder = document["kinds"]["encoder"]["values"]
    encoder.pop("entropy")
    assert "entropy" not in Statistics.from_json(json.dumps(document)).heads["encoder"].values
    encoder.pop("confidence")
    with pytest.raises(ValueError, match=r"kinds.encoder.values.confidence is missing"):
        Statistics.from_json(json.dumps(document))
