import io
import json
import zipfile

import numpy as np
import pytest

from pages.ui.your_own_attention import files
from tests.made_up_traces import made_up_trace
from transformer.errors import AttentionError
from transformer.values.foreign_tokens import frames
from transformer.values.trace import Trace

EVEN = np.full((1, 2, 3, 3), 1 / 3, np.float32)


def archive(trace, **others):
    file = io.BytesIO()
    trace.to_npz(file)
    with np.load(io.BytesIO(file.getvalue())) as saved:
        arrays = {**saved, **others}
    changed = io.BytesIO()
    np.savez_compressed(changed, **arrays)
    return changed.getvalue()


def test_attention_file_saved_from_a_trace_is_read():
    given = made_up_trace(["I", "dr|eam"], ["Ich", "träume"])
    found = files.trace_of_file("a.npz", archive(given))
    assert (found.kinds, found.source_tokens, found.predicted_tokens) == (
        given.kinds,
        given.source_tokens,
        given.predicted_tokens,
    )
    np.testing.assert_array_equal(found.cross, given.cross)
    sound = Trace.from_attention(cross=EVEN, source_tokens=frames(3, 0.02), target_tokens=["a", "b", "c"])
    assert files.trace_of_file("s.npz", archive(sound)).source_tokens == sound.source_tokens


@pytest.mark.parametrize(
    "given",
    [
        {"attention": EVEN.tolist(), "tokens": ["a", "b", "c"]},
        {
            "encoder": EVEN.tolist(),
            "source_tokens": ["a", "b", "c"],
            "source_text": "abc",
            "source_offsets": [[0, 1], [1, 2], [2, 3]],
        },
    ],
)
def test_json_file_accepts_the_arguments_of_trace_from_attention(given):
    assert files.trace_of_file("a.json", json.dumps(given).encode()).kinds == ("encoder",)


def with_words(**changes):
    trace = Trace.from_attention(encoder=EVEN, source_tokens=["a", "b", "c"])
    words = json.loads(trace.to_arrays()["words"].tobytes()) | changes
    return archive(trace, words=np.frombuffer(json.dumps(words).encode(), np.uint8))


HARM = {
    "no archive": ("a.npz", b"PK nothing"),
    "empty": ("a.npz", b""),
    "no JSON": ("a.json", b"{"),
    "another field": ("a.json", b'{"pickle": 1}'),
    "deep": ("a.json", b'{"encoder":' + b"[" * 5000),
    "numbers as tokens": ("a.json", b'{"attention": [[[[1.0]]]], "tokens": [1]}'),
    "tokens of another type": ("a.npz", with_words(source_pieces=[{"id": "x"}] * 3)),
    "a role that is none": (
        "a.npz",
        with_words(source_pieces=[{"id": 1, "text": "a", "span": None, "role": "<script>"}] * 3),
    ),
    "no words": ("a.npz", archive(made_up_trace(["a"], ["b"]), words=np.zeros(3, np.uint8))),
    "objects": ("a.npz", archive(made_up_trace(["a"], ["b"]), encoder=np.zeros((1, 1, 2, 2), "U9"))),
}


@pytest.mark.parametrize("name", HARM)
def test_error_about_an_invalid_attention_file_names_it(name):
    with pytest.raises(AttentionError, match=r"^a\.\w+"):
        files.trace_of_file(*HARM[name])


def test_decompression_bomb_is_not_unpacked():
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as file:
        for name in ("words", "encoder"):
            file.writestr(f"{name}.npy", bytes(files.MAX_BYTES))
    assert len(bomb.getvalue()) < 1e6
    with pytest.raises(AttentionError, match="160 MB"):
        files.trace_of_file("a.npz", bomb.getvalue())


def test_only_attention_files_in_the_folder_are_listed(tmp_path, monkeypatch):
    monkeypatch.setenv(files.FOLDER_VARIABLE, str(tmp_path))
    for name in ("b.npz", "a.json", "c.txt", ".hidden.npz", "<b>.npz"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "d.npz").mkdir()
    assert files.names() == ["a.json", "b.npz"]
    monkeypatch.setenv(files.FOLDER_VARIABLE, str(tmp_path / "none"))
    assert files.names() == []
    with pytest.raises(AttentionError, match="x.npz cannot be read"):
        files.folder_trace("x.npz")
