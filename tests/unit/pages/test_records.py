import json
from functools import cache
from typing import Any

import pytest

from pages.ui.measurements.recordings import AGREEMENT, GALLERY, IMPORTANCE, REMOVAL, STATISTICS, Recording, read_record
from transformer.analysis.heads.statistics import Statistics


@cache
def written(recording: Recording[Any]) -> str:
    return recording.path.read_text(encoding="utf-8")


RECORDINGS: dict[str, Recording[Any]] = {
    "statistics": STATISTICS,
    "gallery": GALLERY,
    "importance": IMPORTANCE,
    "removal": REMOVAL,
    "agreement": AGREEMENT,
}


@pytest.mark.parametrize("name", RECORDINGS)
def test_shipped_recordings_survive_reading_and_writing(name):
    text = written(RECORDINGS[name])
    assert json.loads(RECORDINGS[name].read(text).to_json()) == json.loads(text)


@pytest.mark.parametrize(
    ("name", "way", "value"),
    [
        ("gallery", ["exhibits", 0, "task"], "renamed_task"),
        ("gallery", ["exhibits"], 7),
        ("gallery", ["model"], 7),
        ("agreement", ["methods", 0], "renamed"),
        ("removal", ["points", 0, "bleu"], "1.0"),
        ("statistics", ["kinds", "cross"], {}),
        ("statistics", ["kinds"], []),
        ("importance", ["kinds", "cross"], {}),
    ],
)
def test_recording_from_another_version_is_rejected_and_ignored_by_pages(tmp_path, name, way, value):
    recording = RECORDINGS[name]
    document = json.loads(written(recording))
    *parents, key = way
    parent = document
    for step in parents:
        parent = parent[step]
    parent[key] = value
    text = json.dumps(document)
    with pytest.raises(ValueError, match="from another version"):
        recording.read(text)
    (tmp_path / "record.json").write_text(text, encoding="utf-8")
    assert read_record(tmp_path / "record.json", recording.read) is None


def test_recorded_statistics_may_lack_new_metrics_except_those_that_name_heads():
    document = json.loads(written(STATISTICS))
    encoder = document["kinds"]["encoder"]["values"]
    encoder.pop("entropy")
    assert "entropy" not in Statistics.from_json(json.dumps(document)).heads["encoder"].values
    encoder.pop("confidence")
    with pytest.raises(ValueError, match="confidence"):
        Statistics.from_json(json.dumps(document))
