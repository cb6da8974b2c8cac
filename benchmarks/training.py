"""Compares the training speed of this project and of torch's nn.Transformer, in target tokens per second.

This project's trainer and nn.Transformer take turns in one process, on the same batches of random tokens. Sequences are
as long as short everyday sentences. Both models have the same size and use bfloat16 where the processor supports it.

    python benchmarks/training.py [--json FILE]
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn

# Make imports from the repository work when Python runs this file by path.
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.models import TorchPeer
from benchmarks.timing import command_line, write
from transformer.model.fast.malloc import keep_freed_memory
from transformer.running.translator import MODEL
from transformer.text.tokenizer import Tokenizer
from transformer.training.config import TrainConfig
from transformer.training.data import SideTokens, TokenData
from transformer.training.distributed import Process, has_bfloat16
from transformer.training.run_folder import RunFolder
from transformer.training.trainer import Trainer

ROUNDS = 4
STEPS = 6
PEER = "torch.nn.Transformer, bf16 autocast, AdamW fused"


def random_pairs(count: int, vocabulary: int, rng: np.random.Generator) -> TokenData:
    """Return pairs of random token sequences, with 5 to 60 tokens per side and 13 on average."""

    def side(lengths: np.ndarray) -> SideTokens:
        tokens = rng.integers(4, vocabulary, size=int(lengths.sum())).astype(np.uint16)
        return SideTokens(tokens, np.concatenate([[0], lengths.cumsum()]))

    lengths = np.clip(rng.lognormal(2.45, 0.45, size=count), 5, 60).astype(np.int64)
    return TokenData(side(lengths), side(np.clip(lengths + rng.integers(-2, 4, size=count), 5, 60)))


def trainer(folder: Path, device: torch.device) -> Trainer:
    """Return this project's trainer, in a run folder with random data."""
    tokenizer = Tokenizer.load(MODEL / "tokenizer.model")
    run = RunFolder(folder)
    run.save_tokenizer(tokenizer)
    rng = np.random.default_rng(1)
    for name, count in (("train", 20_000), ("validation", 100)):
        run.save_data(name, random_pairs(count, tokenizer.size, rng), tokenizer)
    return Trainer(folder, TrainConfig(), Process(0, 1, device))


def peer_step(training: Trainer, device: torch.device) -> Callable[[int], int]:
    """Return a function that trains nn.Transformer for one step.

    The function takes the number of a batch, and returns the number of target tokens in this batch.
    """
    model = TorchPeer(training.tokenizer.size, training.config).to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step(number: int) -> int:
        batch = training.batches.load(training.order(0)[number])
        with torch.autocast(device.type, torch.bfloat16, enabled=has_bfloat16(device)):
            loss = model(batch.to(device))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        float(loss.detach())
        return batch.tokens

    return step


def measure() -> dict[str, dict[str, float | str]]:
    """Return the tokens per second of the trainer and of nn.Transformer, which take turns.

    Each figure comes from the fastest of several rounds, the one that other processes disturbed least.
    """
    keep_freed_memory()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with tempfile.TemporaryDirectory() as folder:
        training = trainer(Path(folder), device)
        theirs = peer_step(training, device)
        steps = {"ours": lambda _: training.take_step()[1], "peer": theirs}
        best = dict.fromkeys(steps, 0.0)
        for turn in range(-1, ROUNDS):
            for name, step in steps.items():
                started = time.perf_counter()
                tokens = sum(step(max(turn, 0) * STEPS + number) for number in range(STEPS))
                # The first round only prepares kernels and memory.
                if turn >= 0:
                    best[name] = max(best[name], tokens / (time.perf_counter() - started))
    ratio = best["ours"] / best["peer"]
    return {"target tokens a second": {**best, "ratio": ratio, "peer_name": PEER}}


def main() -> None:
    options = command_line(__doc__).parse_args()
    figures = measure()
    for name, row in figures.items():
        print(f"{name}: ours {row['ours']:.0f}, {row['peer_name']} {row['peer']:.0f}, ratio {row['ratio']:.2f}")
    write(options.json, figures)


if __name__ == "__main__":
    main()
