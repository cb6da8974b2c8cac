"""Files that are written, or replaced, as a whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from tempfile import TemporaryDirectory, TemporaryFile

from safetensors import SafetensorError

from transformer.errors import AtlasError

UNFINISHED = ".unfinished"


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Whatever keeps a file from being written is told with its name: the system names none if the disk is full.

    Raises:
        OSError: the file cannot be written; the message says what to do.
    """
    try:
        yield
    except (OSError, SafetensorError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise OSError(
            f"{path} could not be written ({reason}): see that its folder is there, may be written to and has room, "
            "then call this again"
        ) from error


def check_output(path: Path, *, replacing: bool = False) -> None:
    """Refuse a file that could not be written, before the hours of work that are to be written into it.

    Args:
        replacing: whether it will be `replaced`, which a device or a pipe must not be.

    Raises:
        AtlasError: it cannot be written; the message says why.
    """
    try:
        mode, place = _mode(path), path
        if mode is None and not replacing and path.is_symlink():
            # The file is made where the link leads.
            place = Path(os.path.realpath(path))
        folder = _mode(place.parent)
        if mode is not None and S_ISDIR(mode):
            raise AtlasError(f"{path} is a folder: name a file, such as {path / 'NAME'}")
        if folder is None or not S_ISDIR(folder):
            raise AtlasError(f"there is no folder {place.parent} to write {place.name} into")
        if replacing:
            if mode is not None and not S_ISREG(mode):
                raise AtlasError(f"{path} is a device or a pipe, whose place no file can take: name a file")
            # Its name is longer.
            _mode(path.with_suffix(UNFINISHED))
        if replacing or mode is None:
            # Nothing else says it of every folder: root may write into /dev/fd, where not even root can make a file.
            TemporaryFile(dir=place.parent).close()
    except OSError as error:
        raise AtlasError(f"{path} could not be written ({error.strerror}): name another file") from error
    if not replacing and mode is not None and not os.access(path, os.W_OK):
        raise AtlasError(f"{path} could not be written: it may not be written to; name another file")


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to write files into, all of which then go to `path`; an error leaves there what was there, or nothing.

    Raises:
        AtlasError: there is something of that name, and it is no empty folder.
        OSError: as `writing` does, before anything else.
    """
    # "x/.." makes no x.
    place = Path(os.path.realpath(path))
    with writing(path):
        there = place.exists()
        if there and (not place.is_dir() or any(place.iterdir())):
            raise AtlasError(f"{path} is there already: give another --output, or move it away.")
        place.mkdir(parents=True, exist_ok=True)
        # Inside, and no other folder takes its place: somebody may be in it, and may write nowhere else.
        unfinished = TemporaryDirectory(dir=place)
    try:
        with unfinished as folder:
            yield Path(folder)
            for file in Path(folder).iterdir():
                file.rename(place / file.name)
    except BaseException:
        if not there:
            # What was to be said is that error, and not that some files had come so far.
            with suppress(OSError):
                place.rmdir()
        raise


def _mode(path: Path) -> int | None:
    """What something is and may be used for; None if there is nothing of that name."""
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def write_text(path: Path, text: str) -> None:
    """Write what a command was asked for; it may be no plain file, so nothing takes its place.

    Raises:
        OSError: as `writing` does.
    """
    with writing(path):
        path.write_text(text, encoding="utf-8")


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A file to write, which then takes the place of `path`; an interruption leaves the old one or the new one.

    Raises:
        OSError: the file cannot be written; the old one stays, and nothing beside it.
    """
    unfinished = path.with_suffix(UNFINISHED)
    with writing(path):
        try:
            unfinished.unlink(missing_ok=True)
            unfinished.touch()
            mode = unfinished.stat().st_mode
            yield unfinished
            # safetensors writes files that nobody but their owner can read, whatever the umask says.
            unfinished.chmod(mode)
            os.replace(unfinished, path)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
