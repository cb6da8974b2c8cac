import csv

import pytest

from tests.full_disk import full_disk
from transformer.checkpoints.learning_curve import FIELDS, Curve, Validation, check_curve


@pytest.fixture
def curve(tmp_path):
    """Return a learning curve with rows for steps 25, 50 and 75."""
    curve = Curve(tmp_path / "model" / "learning_curve.csv")
    for step in (25, 50, 75):
        row = dict.fromkeys(FIELDS, "1.5") | {"step": str(step), "validation_loss": "", "validation_chrf": ""}
        curve.add(row, Validation(2.0, 30.0) if step == 50 else None)
    return curve


def steps(curve):
    return [row["step"] for row in csv.DictReader(curve.path.read_text(encoding="utf-8").splitlines())]


def test_learning_curve_rows_after_a_given_step_are_dropped(curve):
    before = curve.path.read_bytes()
    curve.truncate(75)
    assert curve.path.read_bytes() == before
    curve.truncate(60)
    assert steps(curve) == ["25", "50"]
    check_curve(curve.path.read_text(encoding="utf-8"))
    curve.truncate(24)
    assert not curve.path.exists()
    curve.truncate(0)


@pytest.mark.parametrize("cut", [1, 2, 20])
def test_incomplete_last_row_of_a_learning_curve_is_dropped(curve, cut):
    curve.path.write_bytes(curve.path.read_bytes()[:-cut])
    curve.truncate(75)
    assert steps(curve) == ["25", "50"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"garbage\n1,2\n", "the first line must be step,"),
        (b"\xff\xfe\n", "not UTF-8 text"),
        (",".join(FIELDS).encode() + b"\n25,0.1\n" + b"50,1,1,1,,,1,1,1\n", "line 2 needs a finite number"),
        (",".join(FIELDS).encode() + b"\nx,1,1,1,,,1,1,1\n", "line 2 needs a finite number"),
        (b'"\n', "not CSV"),
        (None, "cannot be read"),
    ],
    ids=repr,
)
def test_unusable_learning_curve_is_reported_before_training(curve, content, why):
    curve.path.unlink()
    if content is None:
        curve.path.mkdir()
    else:
        curve.path.write_bytes(content)
    with pytest.raises(ValueError, match=f"learning_curve.csv cannot be continued: .*{why}.* or delete it"):
        curve.truncate(75)
    assert content is None or curve.path.read_bytes() == content


def test_learning_curve_survives_a_full_disk_while_being_shortened(curve):
    before = curve.path.read_bytes()
    with full_disk(100), pytest.raises(OSError, match="learning_curve.csv could not be written"):
        curve.truncate(50)
    assert curve.path.read_bytes() == before and len(list(curve.path.parent.iterdir())) == 1
