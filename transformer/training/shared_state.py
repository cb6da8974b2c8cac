"""Sends the first process's saved state to all processes of a distributed training run."""

import json
from dataclasses import asdict

from safetensors.torch import load, save

from transformer.training.config import TrainConfig
from transformer.training.distributed import Process
from transformer.training.run_folder import RunFolder, TrainingState


def shared_state(
    folder: RunFolder, config: TrainConfig, fingerprints: dict[str, str], process: Process
) -> TrainingState | None:
    """Return the state saved by the first process; None if the training run is new.

    Only the first process saves its state. On another machine, the run folder may have no saved state, or an old one.

    Args:
        folder: run folder of this process.
        config: training settings of this process.
        fingerprints: this process's `RunFolder.fingerprints`.
        process: this process.

    Raises:
        ValueError: the state is damaged, or the processes differ in options, vocabulary or data, so that averaging
            their gradients would be wrong. All processes raise this error.
    """
    if process.count == 1:
        return folder.state()
    own_facts = asdict(config) | fingerprints
    state = process.run_in_first(folder.state)
    message = {"own": own_facts, "progress": dict(state.progress) if state else None}
    first = json.loads(process.broadcast(json.dumps(message).encode()))
    others = [name for name, value in own_facts.items() if value != first["own"][name]]
    if process.sum(len(others)):
        which = f"this process differs in {' and in '.join(others)}" if others else "another process differs"
        raise ValueError(
            f"all processes of a training run must have the same options and prepared data as the first, but "
            f"{which}: start all processes with the same options, and copy the prepared files of the first "
            f"machine into {folder.path}"
        )
    if first["progress"] is None:
        return None
    tensors = process.broadcast(save(dict(state.tensors)) if state else b"")
    return TrainingState(load(tensors), first["progress"])
