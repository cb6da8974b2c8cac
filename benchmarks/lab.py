"""Measures training on small tasks: steps per second, and seconds until 99% of the held-out items are correct.

`transformer.tasks` and two alternatives take turns. The first alternative is built from torch.nn's encoder and decoder
layers, with the same sizes, batches and optimiser. The second is the hand-written backward pass in
`transformer.backpropagation` (float64, numpy). The seconds include the time for 100 snapshots, because
a user waits for them, too.

    python benchmarks/lab.py [--threads N] [--json FILE]
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

# Make imports from the repository work when Python runs this file by path.
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.models import TorchPeer
from benchmarks.timing import command_line, write
from transformer.backpropagation.gradients import LossInputs, gradients
from transformer.backpropagation.optimizers import Moments, adam
from transformer.tasks.config import TaskConfig
from transformer.tasks.events import MIN_MATCH, events
from transformer.tasks.optimizer import BETAS
from transformer.tasks.trainer import TaskTrainer
from transformer.text.vocabulary import OWN_SYMBOLS

ROUNDS = 4
STEPS = 10
TARGET_SECONDS = 20


def peer_step(config: TaskConfig, trainer: TaskTrainer) -> Callable[[int], None]:
    """Return a function that takes one training step with torch.nn's layers, on the trainer's items for that step."""
    model = TorchPeer(config.model.target_vocabulary, config.training, OWN_SYMBOLS.pad).train()
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=config.learning_rate, betas=BETAS, eps=1e-9, weight_decay=config.weight_decay
    )

    def step(number: int) -> None:
        loss = model(trainer.items.batch(trainer.items.training(number, config.items)))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), config.training.clip)
        optimizer.step()
        optimizer.zero_grad()
        float(loss.detach())

    return step


def written_out_step(config: TaskConfig, trainer: TaskTrainer) -> Callable[[int], None]:
    """Return a function that takes one training step in numpy: forward pass, backward pass and Adam."""
    values = {name: each.detach().double().numpy().copy() for name, each in trainer.model.named_parameters()}
    moments = Moments()

    def step(number: int) -> None:
        nonlocal values, moments
        batch = trainer.items.batch(trainer.items.training(number, config.items))
        source, target, labels = (ids.numpy() for ids in (batch.source, batch.target, batch.predicted))
        found = gradients(
            values,
            config.model,
            LossInputs(source, target, labels, labels != OWN_SYMBOLS.pad, source != OWN_SYMBOLS.pad),
        )
        each = {name: gradient / batch.tokens for name, gradient in found.parameters.items()}
        values, moments = adam(values, each, moments, learning_rate=config.learning_rate, betas=BETAS)

    return step


def steps_per_second() -> dict[str, float]:
    """Return the steps per second of the trainer, torch.nn and the hand-written backward pass.

    The three take turns. Each value comes from the fastest of several rounds, the one least disturbed by other
    processes.
    """
    config = TaskConfig(task="reverse", steps=(ROUNDS + 1) * STEPS, snapshots=1)
    trainer = TaskTrainer(config)
    steps: dict[str, Callable[[int], object]] = {
        "autograd": lambda _: trainer.advance(steps=1),
        "torch.nn": peer_step(config, trainer),
        "written out": written_out_step(config, trainer),
    }
    best = dict.fromkeys(steps, 0.0)
    for turn in range(ROUNDS):
        for name, step in steps.items():
            started = time.perf_counter()
            for number in range(STEPS):
                step(turn * STEPS + number)
            best[name] = max(best[name], STEPS / (time.perf_counter() - started))
    return best


def time_to_learn(task: str) -> dict[str, object]:
    """Train with the default settings, and return measurements of the run.

    "seconds" is the time after which every snapshot solves at least 99% of the held-out items; None if there is none.
    """
    trainer = TaskTrainer(TaskConfig(task=task))
    solved: float | None = None
    while not trainer.finished:
        trainer.advance(steps=4)
        if trainer.snapshots[-1].exact_match < MIN_MATCH:
            solved = None
        elif solved is None:
            solved = trainer.seconds
    run = trainer.run()
    return {
        "seconds": solved,
        "seconds of the whole run": run.seconds,
        "steps": run.step,
        "exact match": run.snapshots[-1].exact_match,
        "events": [event.text for event in events(run)],
    }


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument(
        "--threads",
        type=int,
        default=1,
        help="number of torch threads; more than one hardly helps (default: %(default)s)",
    )
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    speed = steps_per_second()
    print(
        ", ".join(f"{name} {value:.0f}" for name, value in speed.items()),
        "steps per second,",
        f"ratio of autograd to torch.nn {speed['autograd'] / speed['torch.nn']:.2f}",
    )
    learned = {task: time_to_learn(task) for task in ("copy", "reverse")}
    for task, found in learned.items():
        seconds = f"{found['seconds']:.1f} s" if found["seconds"] is not None else "never"
        print(
            f"{task}: time until 99% of the held-out items are correct: {seconds} (target {TARGET_SECONDS} s); "
            f"the whole run of {found['steps']} steps takes {found['seconds of the whole run']:.1f} s"
        )
        print(*(f"  {text}" for text in found["events"]), sep="\n")
    write(options.json, {"steps a second": speed, "time to learn": learned})


if __name__ == "__main__":
    main()
