"""Shares the first process's saved state with all processes that train a run together."""

from __future__ import annotations

import json
from dataclasses import asdict

from safetensors.torch import load, save

from transformer.training.config import TrainConfig
from transformer.training.distributed import Process
from transformer.training.run_folder import RunFolder, TrainingState


def shared_state(
    folder: RunFolder, config: TrainConfig, fingerprints: dict[str, str], process: Process
) -> TrainingState | None:
    """The state in the first process's folder; None at the beginning of a run.

    Only that process saves. The folder of another machine has no state, or an old one.

    Args:
        fingerprints: `RunFolder.fingerprints` of this process's data.

    Raises:
        ValueError: the state is damaged, or a process was started with other options, vocabulary or data than the
            first one; otherwise their gradients would be mixed unnoticed. Every process raises it.
    """
    if process.count == 1:
        return folder.state()
    own = asdict(config) | fingerprints
    state = process.in_first(folder.state)
    message = {"own": own, "progress": dict(state.progress) if state else None}
    first = json.loads(process.of_first(json.dumps(message).encode()))
    others = [name for name, value in own.items() if value != first["own"][name]]
    if process.sum(len(others)):
        which = f"this one has another {' and another '.join(others)}" if others else "another one has not"
        raise ValueError(
            f"all processes of a training must have the same options and prepared data as the first one, but {which}: "
            f"start all with the same options, and copy what `prepare` wrote into {folder.path} from the first"
        )
    if first["progress"] is None:
        return None
    tensors = process.of_first(save(dict(state.tensors)) if state else b"")
    return TrainingState(load(tensors), first["progress"])
