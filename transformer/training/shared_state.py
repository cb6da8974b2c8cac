"""What a run continues from, in each of the processes that train it together: as the first one has it."""

from __future__ import annotations

import json
from dataclasses import asdict

from safetensors.torch import load, save

from transformer.training.config import TrainConfig
from transformer.training.distributed import Process
from transformer.training.run_folder import RunFolder, State


def shared_state(
    folder: RunFolder, config: TrainConfig, fingerprints: dict[str, str], process: Process
) -> State | None:
    """What the first process's folder has; None at the beginning of a run.

    Only that process saves. Another machine's folder has nothing to continue from, or something old.

    Args:
        fingerprints: `RunFolder.fingerprints`, of what this process trains on.

    Raises:
        ValueError: the state is damaged, or a process was started with other options, vocabulary or data than the
            first one: their gradients would be mixed all the same. Each of them raises it.
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
            f"all processes of a training must have the options and the prepared data of the first one, and {which}: "
            f"start all with the same options, and copy what `prepare` wrote into {folder.path} from the first"
        )
    if first["progress"] is None:
        return None
    tensors = process.of_first(save(dict(state.tensors)) if state else b"")
    return State(load(tensors), first["progress"])
