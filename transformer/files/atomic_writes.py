"""Writes files and folders atomically, with error messages that name the file."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

from safetensors import SafetensorError

from transformer.errors import AtlasError

UNFINISHED = ".unfinished"


@contextmanager
def write_errors_explained(path: Path) -> Iterator[None]:
    """Context manager that adds the file name to write errors, because the system's message for a full disk omits it.

    Raises:
        OSError: the file cannot be written; the message says what to do.
    """
    try:
        yield
    except (OSError, SafetensorError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise OSError(
            f"{path} could not be written ({reason}): check that its folder exists, is writable and has space, then "
            "try again"
        ) from error


def check_output(path: Path) -> None:
    """Check that an output file can be written, before a command spends hours computing the file's content.

    Raises:
        AtlasError: the file cannot be written; the message says why.
    """
    try:
        if path.is_dir():
            raise AtlasError(f"{path} is a folder: name a file, such as {path / 'NAME'}")
        if not path.parent.is_dir():
            raise AtlasError(f"there is no folder {path.parent} for {path.name}: create it, or name another")
        if not path.exists():
            # Creating a temporary file is the only check that works for every folder.
            TemporaryFile(dir=path.parent).close()
        elif not os.access(path, os.W_OK):
            raise AtlasError(f"{path} is not writable: name another file")
    except OSError as error:
        raise AtlasError(f"{path} could not be written ({error.strerror}): name another file") from error


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Context manager that yields a temporary folder, and moves the folder's files to `path` when the block ends.

    After an error in the block, `path` is unchanged.

    Raises:
        AtlasError: `path` exists and is not an empty folder.
        OSError: the folder cannot be created or written to. Nothing has been written in this case.
    """
    # `realpath` resolves "x/..", so that the folder x is not created.
    place = Path(os.path.realpath(path))
    with write_errors_explained(path):
        there = place.exists()
        if there and (not place.is_dir() or any(place.iterdir())):
            raise AtlasError(f"{path} already exists: choose another --output, or move {path} elsewhere.")
        place.mkdir(parents=True, exist_ok=True)
        # The temporary folder is inside `path`, because the user may have no permission to write elsewhere. `path`
        # itself is not replaced, because it may be the user's current folder.
        unfinished = TemporaryDirectory(dir=place)
    try:
        with unfinished as folder:
            yield Path(folder)
            for file in Path(folder).iterdir():
                file.rename(place / file.name)
    except BaseException:
        if not there:
            # Report the error from the block, not a failure to clean up.
            with suppress(OSError):
                place.rmdir()
        raise


def write_text(path: Path, text: str) -> None:
    """Write a command's output to a file, a device or a pipe.

    Raises:
        OSError: as in `write_errors_explained`.
    """
    with write_errors_explained(path):
        path.write_text(text, encoding="utf-8")


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Context manager that yields a temporary path to write to, and then atomically moves the new file to `path`.

    Raises:
        OSError: the file cannot be written; the old file is unchanged, and no temporary file is left.
    """
    unfinished = path.with_suffix(UNFINISHED)
    with write_errors_explained(path):
        try:
            unfinished.unlink(missing_ok=True)
            unfinished.touch()
            mode = unfinished.stat().st_mode
            yield unfinished
            # safetensors creates files that only the owner can read, whatever the umask.
            unfinished.chmod(mode)
            os.replace(unfinished, path)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
