"""The files of a model folder that somebody else made: read within limits, and nothing of them is executed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from transformer.errors import CheckpointError

WEIGHTS, INDEX, PICKLE = "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"
SHARD = re.compile(r"model-\d{5}-of-\d{5}\.safetensors")
MEGABYTE = 1 << 20
LARGEST = {".json": 32 * MEGABYTE, ".spm": 16 * MEGABYTE, ".txt": 16 * MEGABYTE, ".md": MEGABYTE}
LARGEST_WEIGHTS = 4096 * MEGABYTE
DTYPES = {torch.float16, torch.bfloat16, torch.float32}
LFS_POINTER = b"version https://git-lfs"


class Folder:
    """A folder of files with known names; links lead nowhere outside it, but for the hub's own cache.

    Args:
        path: of the folder.

    Raises:
        CheckpointError: there is no such folder.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise CheckpointError(f"There is no folder {path}.")
        self.path = path
        real = path.resolve()
        self._roots = [real]
        if real.parent.name == "snapshots":
            # huggingface_hub links every file of a snapshot to ../../blobs.
            self._roots.append(real.parent.parent / "blobs")

    def has(self, name: str) -> bool:
        return (self.path / name).exists()

    def read(self, name: str) -> bytes:
        """The content of a file.

        Raises:
            CheckpointError: it is missing, too large, half there or lies elsewhere.
        """
        path = self._checked(name, LARGEST[Path(name).suffix])
        content = path.read_bytes()
        if not content:
            raise CheckpointError(f"The file {self.path / name} is empty: fetch the folder again.")
        return content

    def json(self, name: str) -> dict[str, Any]:
        """The JSON object in a file.

        Raises:
            CheckpointError: as `read`, or it holds something else.
        """
        try:
            values = json.loads(self.read(name))
        except (ValueError, RecursionError) as error:
            if isinstance(error, CheckpointError):
                raise
            raise CheckpointError(f"The file {self.path / name} is no JSON, or a damaged one.") from error
        if not isinstance(values, dict):
            raise CheckpointError(f"The file {self.path / name} is no JSON object.")
        return values

    def weights(self, *, allow_pickle: bool, left_out: re.Pattern[str] | None = None) -> dict[str, Tensor]:
        """All tensors by name, on the CPU, in float32.

        Args:
            allow_pickle: read pytorch_model.bin if there is no safetensors file, by torch's weights-only reading.
            left_out: names of tensors that are no weights and may be of any type, as masks.

        Raises:
            CheckpointError: there are none, or they are damaged, not numbers, or of another type than float.
        """
        weights: dict[str, Tensor] = {}
        for name, part in self._parts(allow_pickle=allow_pickle):
            for key, tensor in part.items():
                if left_out is not None and left_out.fullmatch(key):
                    continue
                if key in weights:
                    raise CheckpointError(f"The folder {self.path} has the tensor {key} twice.")
                weights[key] = self._number(tensor, key, name)
        return weights

    def _parts(self, *, allow_pickle: bool) -> Iterator[tuple[str, dict[str, Tensor]]]:
        if self.has(WEIGHTS):
            yield WEIGHTS, self._safetensors(WEIGHTS)
        elif self.has(INDEX):
            places = self.json(INDEX).get("weight_map")
            names = sorted(set(places.values())) if isinstance(places, dict) else []
            if not names or not all(isinstance(name, str) and SHARD.fullmatch(name) for name in names):
                raise CheckpointError(f"The file {self.path / INDEX} does not name the weight files.")
            for name in names:
                yield name, self._safetensors(name)
        elif self.has(PICKLE):
            if not allow_pickle:
                raise CheckpointError(
                    f"The weights in {self.path} are a pickle only ({PICKLE}), which may hold code: a safetensors copy "
                    "is often in --revision refs/pr/1; or read it as weights alone with --allow-pickle-weights."
                )
            yield PICKLE, self._pickle()
        else:
            raise CheckpointError(f"The file {self.path / WEIGHTS} is missing: fetch the folder again.")

    def _safetensors(self, name: str) -> dict[str, Tensor]:
        path = self._checked(name, LARGEST_WEIGHTS)
        try:
            with safe_open(path, framework="pt") as file:
                return {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        except (SafetensorError, OSError) as error:
            raise CheckpointError(
                f"The file {self.path / name} is damaged or half there ({error}): fetch it again."
            ) from error

    def _pickle(self) -> dict[str, Tensor]:
        path = self._checked(PICKLE, LARGEST_WEIGHTS)
        try:
            # Nothing but tensors, numbers, texts and containers of them is made; anything else raises.
            weights = torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:  # What the many readers behind it raise on a damaged file is not documented.
            reason = str(error).strip().split("\n")[0]
            raise CheckpointError(f"The file {self.path / PICKLE} cannot be read as weights alone: {reason}") from error
        if not isinstance(weights, dict) or not all(
            isinstance(key, str) and isinstance(value, Tensor) for key, value in weights.items()
        ):
            raise CheckpointError(f"The file {self.path / PICKLE} holds something else than weights.")
        return weights

    def _number(self, tensor: Tensor, key: str, name: str) -> Tensor:
        if tensor.dtype not in DTYPES:
            raise CheckpointError(f"The tensor {key} in {self.path / name} is of the type {tensor.dtype}, not a float.")
        number = tensor.float()
        if not number.isfinite().all():
            raise CheckpointError(f"The tensor {key} in {self.path / name} is not finite everywhere.")
        return number

    def _checked(self, name: str, largest: int) -> Path:
        path = self.path / name
        try:
            real = path.resolve(strict=True)
        except (OSError, RuntimeError):
            # Python 3.12 and older raise the latter where links lead in a circle.
            raise CheckpointError(f"The file {path} is missing: fetch the folder again.") from None
        if not real.is_file() or not any(real.is_relative_to(root) for root in self._roots):
            raise CheckpointError(f"The file {path} is no file of this folder but leads to {real}.")
        if real.stat().st_size > largest:
            raise CheckpointError(f"The file {path} is larger than the {largest // MEGABYTE} MB that such a file has.")
        with real.open("rb") as file:
            if file.read(len(LFS_POINTER)) == LFS_POINTER:
                raise CheckpointError(f"The file {path} is only a pointer to the real one: run `git lfs pull` there.")
        return real
