"""Damages files in a folder, to test the code that reads them."""

import json
import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hypothesis import strategies as st

CONTENTS = ("flip", "flip", "flip", "cut", "insert", "overwrite", "empty", "other", "random")
PLACES = ("missing", "folder", "loop")
# Tests create and delete thousands of folders, so keep them in memory where the system supports that.
MEMORY = Path("/dev/shm")


@st.composite
def file_damages(draw: st.DrawFn, files: Sequence[str]) -> tuple[str, str, str, float, bytes]:
    """Hypothesis strategy for damage to one file: kind of damage, file, another file, relative position, and bytes."""
    names = st.sampled_from(files)
    return (
        draw(st.sampled_from(CONTENTS + PLACES)),
        draw(names),
        draw(names),
        draw(st.floats(0, 1, exclude_max=True)),
        draw(st.binary(min_size=1, max_size=40)),
    )


def damage_file(folder: Path, kind: str, name: str, other: str = "", place: float = 0, added: bytes = b"?") -> None:
    """Damage a file in one of the ways that CONTENTS and PLACES list."""
    path = folder / name
    content = path.read_bytes()
    at = int(place * len(content))
    replaced = (folder / other).read_bytes() if kind == "other" else b""
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to(path)
    elif kind != "missing":
        path.write_bytes(
            {
                "flip": content[:at] + bytes([content[at] ^ (added[0] or 1)]) + content[at + 1 :],
                "cut": content[:at],
                "insert": content[:at] + added + content[at:],
                "overwrite": content[:at] + added + content[at + len(added) :],
                "empty": b"",
                "other": replaced,
                "random": added,
            }[kind]
        )


def set_field(path: Path, field: str, value: object, *, dropped: bool = False) -> None:
    """Set or remove a field in a JSON file."""
    values = json.loads(path.read_text())
    values.pop(field, None)
    path.write_text(json.dumps(values if dropped else {**values, field: value}))


def change_header(path: Path, kind: str, which: object, value: object) -> None:
    """Damage the header of a safetensors file: change a tensor's shape or type ("header"), remove a tensor ("tensor")
    or change a checksum in the metadata ("metadata").
    """
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    if kind == "metadata":
        header["__metadata__"][which] = value
    else:
        assert isinstance(which, int)
        name = sorted(header.keys() - {"__metadata__"})[which % (len(header) - 1)]
        if kind == "tensor":
            header.pop(name)
        else:
            header[name]["dtype" if isinstance(value, str) else "shape"] = value
    written = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(written)) + written + content[8 + length :])


def short_lived_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)
