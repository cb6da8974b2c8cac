"""Reads untrusted files in Hugging Face model folders, with size limits and without executing code from them."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from transformer.errors import CheckpointError
from transformer.files.small_files import MEGABYTE, json_object
from transformer.files.tensors import read_tensors

WEIGHTS, PICKLE = "model.safetensors", "pytorch_model.bin"
# Index files of a large model whose weights are split into several safetensors files, or several pickle files.
INDEX, PICKLE_INDEX = f"{WEIGHTS}.index.json", f"{PICKLE}.index.json"
SHARD = {
    INDEX: re.compile(r"model-\d{5}-of-\d{5}\.safetensors"),
    PICKLE_INDEX: re.compile(r"pytorch_model-\d{5}-of-\d{5}\.bin"),
}
MAX_FILE_SIZES = {
    ".json": 64 * MEGABYTE,
    ".spm": 16 * MEGABYTE,
    ".model": 16 * MEGABYTE,
    ".txt": 16 * MEGABYTE,
    ".md": MEGABYTE,
}
MAX_WEIGHTS_SIZE = 4096 * MEGABYTE
DTYPES = {torch.float16, torch.bfloat16, torch.float32, torch.float64}
LFS_POINTER = b"version https://git-lfs"
CONVERSION_ADVICE = f"load the model with a current version of transformers and save it again, which writes {WEIGHTS}"


class HuggingFaceFolder:
    """A Hugging Face model folder, whose symbolic links may point only into the folder or the Hub's cache.

    Args:
        path: path to the folder.

    Raises:
        CheckpointError: the folder does not exist.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise CheckpointError(f"{path} is not a folder: check the path.")
        self.path = path
        real = path.resolve()
        self._roots = [real]
        if real.parent.name == "snapshots":
            # huggingface_hub links every file in a snapshot to ../../blobs.
            self._roots.append(real.parent.parent / "blobs")

    def has(self, name: str) -> bool:
        """Return whether the folder contains the file, even as a dangling link."""
        return os.path.lexists(self.path / name)

    def read(self, name: str, *, may_be_empty: bool = False) -> bytes:
        """Read a file in the folder.

        Raises:
            CheckpointError: the file is missing, empty, unreadable, too large, only a Git LFS pointer, or outside the
                folder.
        """
        path = self._checked(name, MAX_FILE_SIZES[Path(name).suffix])
        with self._reading(name):
            content = path.read_bytes()
        if not content and not may_be_empty:
            raise CheckpointError(f"The file {self.path / name} is empty: fetch the folder again.")
        return content

    def json(self, name: str) -> dict[str, Any]:
        """Read a file that contains a JSON object.

        Raises:
            CheckpointError: as in `read`, or the content is not a JSON object.
        """
        content = self.read(name)
        try:
            return json_object(content, f"The file {self.path / name}")
        except ValueError as error:
            raise CheckpointError(f"{error}.") from error

    def weights(
        self, *, allow_pickle: bool, left_out: re.Pattern[str] | None = None, otherwise: str = CONVERSION_ADVICE
    ) -> dict[str, Tensor]:
        """Read all weights by name, as float32 tensors on the CPU.

        Args:
            allow_pickle: whether pytorch_model.bin may be read if there is no safetensors file; torch unpickles only
                tensors and plain containers.
            left_out: pattern for names of tensors to skip because they are not weights, such as masks.
            otherwise: advice at the end of the error message if the only weights are a pickle.

        Raises:
            CheckpointError: there are no weights, or they are damaged, not finite, or not of a float type.
        """
        weights: dict[str, Tensor] = {}
        for name in self.weight_files():
            pickled = name.endswith(Path(PICKLE).suffix)
            if pickled and not allow_pickle:
                raise CheckpointError(
                    f"The weights in {self.path} are available only as a pickle ({name}), which may contain code: "
                    f"{otherwise}."
                )
            for key, tensor in (self._pickle(name) if pickled else self._safetensors(name)).items():
                if left_out is not None and left_out.fullmatch(key):
                    continue
                if key in weights:
                    raise CheckpointError(f"The folder {self.path} contains the tensor {key} twice.")
                weights[key] = self._number(tensor, key, name)
        return weights

    def weight_files(self) -> tuple[str, ...]:
        """Return the names of the weight files: safetensors files if there are any, otherwise pickles.

        Raises:
            CheckpointError: there are no weights, or the index file of split weights is invalid.
        """
        for single_file, index in ((WEIGHTS, INDEX), (PICKLE, PICKLE_INDEX)):
            if self.has(single_file):
                return (single_file,)
            if self.has(index):
                places = self.json(index).get("weight_map")
                names = list(places.values()) if isinstance(places, dict) else []
                if not names or not all(isinstance(name, str) and SHARD[index].fullmatch(name) for name in names):
                    raise CheckpointError(f"The file {self.path / index} lists no valid weight files: fetch it again.")
                return tuple(sorted(set(names)))
        raise CheckpointError(f"The file {self.path / WEIGHTS} is missing: fetch the folder again.")

    def _safetensors(self, name: str) -> dict[str, Tensor]:
        path = self._checked(name, MAX_WEIGHTS_SIZE)
        try:
            return read_tensors(path)[0]
        except (OSError, ValueError) as error:
            raise CheckpointError(f"The file {self.path / name} cannot be used ({error}): fetch it again.") from error

    def _pickle(self, name: str) -> dict[str, Tensor]:
        path = self._checked(name, MAX_WEIGHTS_SIZE)
        try:
            # weights_only permits tensors, numbers, strings and containers of these; anything else raises an error.
            weights = torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:  # torch does not document the errors that a damaged file may cause.
            reason = str(error).strip().split("\n")[0]
            raise CheckpointError(
                f"The file {self.path / name} contains more than weights, or is damaged: {reason}"
            ) from error
        if not isinstance(weights, dict) or not all(
            isinstance(key, str) and isinstance(value, Tensor) for key, value in weights.items()
        ):
            raise CheckpointError(f"The file {self.path / name} does not contain weights: fetch the folder again.")
        return weights

    def _number(self, tensor: Tensor, key: str, name: str) -> Tensor:
        if tensor.dtype not in DTYPES:
            raise CheckpointError(
                f"The tensor {key} in {self.path / name} has the type {tensor.dtype}, but must have a float type."
            )
        number = tensor.float()
        if not number.isfinite().all():
            raise CheckpointError(f"The tensor {key} in {self.path / name} contains values that are not finite.")
        return number

    def _checked(self, name: str, largest: int) -> Path:
        path = self.path / name
        try:
            real = path.resolve(strict=True)
        except (OSError, RuntimeError):
            # Python 3.12 and older raise a RuntimeError for circular links.
            raise CheckpointError(f"The file {path} is missing: fetch the folder again.") from None
        if not real.is_file() or not any(real.is_relative_to(root) for root in self._roots):
            raise CheckpointError(
                f"The path {path} points to {real}, which is not a file in {self.path}: fetch the folder again."
            )
        with self._reading(name):
            if real.stat().st_size > largest:
                raise CheckpointError(
                    f"The file {path} is larger than {largest // MEGABYTE} MB, the limit for this type of file."
                )
            with real.open("rb") as file:
                if file.read(len(LFS_POINTER)) == LFS_POINTER:
                    raise CheckpointError(
                        f"The file {path} is only a Git LFS pointer: run `git lfs pull` in its folder."
                    )
        return real

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise CheckpointError(f"The file {self.path / name} cannot be read ({error.strerror}).") from error
