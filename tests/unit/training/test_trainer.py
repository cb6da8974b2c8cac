from __future__ import annotations

import csv
import os
import random
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from transformer.checkpoint import CURVE, load_checkpoint, read_tensors
from transformer.training.evaluate import evaluate
from transformer.training.prepare import prepare
from transformer.training.processes import Process
from transformer.training.recipe import Recipe
from transformer.training.trainer import STATE, Trainer, average

ROOT = Path(__file__).parents[3]
TINY = {
    "d_model": 32, "heads": 4, "layers": 1, "d_ff": 64, "batch_pieces": 256, "micro_batches": 2, "steps": 6,
    "warmup": 2, "save_minutes": 60.0, "average": 2,
}
WORDS = {"one": "eins", "two": "zwei", "three": "drei", "red": "rot", "blue": "blau", "cat": "Katze", "dog": "Hund"}


def pairs(count, seed):
    rng = random.Random(seed)
    for _ in range(count):
        words = rng.choices(list(WORDS), k=rng.randrange(1, 6))
        yield " ".join(words), " ".join(WORDS[word] for word in words)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory, tokenizer):
    folder = tmp_path_factory.mktemp("prepared")
    for name, count, seed in (("train.tsv", 300, 1), ("dev.tsv", 20, 2)):
        (folder / name).write_text("".join(f"{a}\t{b}\n" for a, b in pairs(count, seed)), encoding="utf-8")
    (folder / "given").mkdir()
    (folder / "given" / "tokenizer.model").write_bytes(tokenizer.serialized)
    prepare(
        folder / "run", data=[folder / "train.tsv"], validation=folder / "dev.tsv", start=folder / "given", sampled=0
    )
    return folder


@pytest.fixture
def run(prepared, tmp_path):
    for name in ("tokenizer.model", "train.npz", "validation.npz"):
        (tmp_path / name).write_bytes((prepared / "run" / name).read_bytes())
    return tmp_path


def trainer(run, start=None, **changes):
    return Trainer(run, Recipe(**{**TINY, **changes}), Process(0, 1, torch.device("cpu")), start)


def test_learns_a_dictionary(run, prepared):
    trainer(run, steps=400, learning_rate=0.01, dropout=0.0, label_smoothing=0.0, warmup=10).train()
    scores = evaluate(run / "model", prepared / "dev.tsv", device="cpu")
    assert scores.sentences == 20 and scores.chrf > 90
    assert "nrefs:1" in scores.bleu_signature and "version" in scores.chrf_signature
    assert 0.9 < scores.length_ratio < 1.1


def test_an_interrupted_run_computes_what_an_uninterrupted_one_does(run, tmp_path_factory):
    whole = trainer(run)
    losses = [whole.take_step()[0] for _ in range(6)]
    interrupted = trainer(run)
    first = [interrupted.take_step()[0] for _ in range(3)]
    interrupted._save()
    resumed = trainer(run)
    assert resumed.step == 3
    assert first + [resumed.take_step()[0] for _ in range(3)] == losses
    for (name, one), other in zip(whole.model.named_parameters(), resumed.model.parameters(), strict=True):
        assert torch.equal(one, other), name


def test_a_run_is_not_resumed_with_another_recipe(run):
    training = trainer(run)
    training.take_step()
    training._save()
    assert trainer(run, steps=9, cooldown=0.1).step == 1
    with pytest.raises(ValueError, match="started with learning_rate 0.002, not 0.5"):
        trainer(run, learning_rate=0.5)


def test_a_run_can_start_with_a_models_weights(run, tmp_path_factory):
    trainer(run, steps=4).train()
    other = tmp_path_factory.mktemp("other")
    for name in ("tokenizer.model", "train.npz", "validation.npz"):
        (other / name).write_bytes((run / name).read_bytes())
    again = trainer(other, start=run / "model")
    assert again.step == 0
    expected = dict(load_checkpoint(run / "model").model.named_parameters())
    for name, parameter in again.model.named_parameters():
        assert torch.equal(parameter, expected[name]), name
    with pytest.raises(ValueError, match="is not of the shape that is to be trained"):
        trainer(other, start=run / "model", d_ff=32)


def test_a_run_does_not_start_with_a_model_of_another_vocabulary(run):
    with pytest.raises(ValueError, match="another vocabulary .* give --from .* to `prepare` too"):
        trainer(run, start=ROOT / "assets/models/en-de")


def test_a_finished_run_leaves_model_log_and_state(run):
    trainer(run, steps=4).train()
    assert load_checkpoint(run / "model").model.config.d_model == 32
    curve = load_checkpoint(run / "model").curve
    (row,) = csv.DictReader(curve.splitlines())
    assert row["step"] == "4" and float(row["validation_loss"]) > 0 and float(row["pieces_per_second"]) > 0
    assert 0 <= float(row["validation_chrf"]) <= 100
    assert read_tensors(run / STATE)[1]["progress"]
    trainer(run, steps=4).train()
    assert load_checkpoint(run / "model").curve == curve, "nothing is left to do"


def test_what_came_after_the_step_a_run_continues_from_is_forgotten(run):
    """Else steps would be noted twice, and a model would be averaged from another run's weights."""
    trainer(run, steps=25).train()
    checkpoint = (run / STATE).read_bytes()
    trainer(run, steps=50).train()
    (run / STATE).write_bytes(checkpoint)
    trainer(run, steps=30).train()
    curve = load_checkpoint(run / "model").curve
    assert [row["step"] for row in csv.DictReader(curve.splitlines())] == ["25", "30"]
    assert [path.stem for path in sorted(run.glob("weights-*"))] == ["weights-0000025", "weights-0000030"]
    (run / STATE).unlink()
    assert trainer(run).step == 0 and not (run / "model" / CURVE).exists(), "a new run begins a new curve"


def test_a_run_that_went_further_is_not_cut_short(run):
    trainer(run, steps=3).train()
    with pytest.raises(ValueError, match="has taken 3 steps already, more than 2"):
        trainer(run, steps=2)


def test_checkpoints_stand_beside_the_mean_loss_of_equally_many_steps(run):
    trainer(run, steps=75, save_minutes=0.0).train()
    rows = list(csv.DictReader(load_checkpoint(run / "model").curve.splitlines()))
    assert [row["step"] for row in rows] == ["25", "50", "75"] and all(row["validation_loss"] for row in rows)


def test_the_model_is_the_average_of_the_last_checkpoints(run):
    training = trainer(run, steps=20, average=2)
    saved = []
    for _ in range(3):
        training.take_step()
        training._save()
        saved.append({name: p.detach().clone() for name, p in training.model.named_parameters()})
    assert len(list(run.glob("weights-*.safetensors"))) == 2
    expected = average(saved[-2:])
    for name, parameter in load_checkpoint(run / "model").model.named_parameters():
        torch.testing.assert_close(parameter, expected[name], atol=1e-3, rtol=1e-3)


def test_micro_batches_add_up_to_one_step(run):
    """The gradient is the mean over all pieces of the step, however they are shared out."""
    split = trainer(run, dropout=0.0)
    members = [split._members(0), split._members(1)]
    total = sum(split.loss(split.batches.load(m)) for m in members)
    (total / sum(split.batches.load(m).pieces for m in members)).backward()
    expected = {name: p.grad.clone() for name, p in split.model.named_parameters()}
    stepping = trainer(run, dropout=0.0)
    grads = gradients_of_a_step(stepping)
    for name, grad in grads.items():
        torch.testing.assert_close(grad, expected[name], atol=2e-2, rtol=5e-2)


def gradients_of_a_step(training):
    kept = {}
    training.optimizer.step = lambda factor: kept.update(
        {name: p.grad.clone() for name, p in training.model.named_parameters()}
    ) or 0.0
    training.take_step()
    return kept


TWO_PROCESSES = """
import sys, torch
from pathlib import Path
from safetensors.torch import save_file
from transformer.training.processes import joined_processes
from transformer.training.recipe import Recipe
from transformer.training.trainer import Trainer
torch.set_num_threads(1)
with joined_processes("cpu") as process:
    training = Trainer(Path(sys.argv[1]), Recipe(d_model=32, heads=4, layers=1, d_ff=64, batch_pieces=256,
        micro_batches=4, steps=6, warmup=2, dropout=0.0), process)
    training._autocast = lambda: torch.autocast("cpu", torch.bfloat16, enabled=False)
    kept = {}
    def keep(factor):
        kept.update({name: p.grad.clone() for name, p in training.model.named_parameters()})
        return 0.0
    training.optimizer.step = keep
    loss, pieces, _ = training.take_step()
    kept["summed"] = torch.tensor([loss, pieces])
    if process.rank == 0:
        save_file(kept, sys.argv[2])
"""


def test_two_processes_give_the_gradients_of_one(run):
    script = run / "two.py"
    script.write_text(TWO_PROCESSES)
    results = []
    for count in (1, 2):
        path = run / f"gradients{count}.safetensors"
        # As torchrun would, but without looking up names: on a machine without a network that can fail. The port is
        # outside the range from which the system gives ports to whoever asks.
        loopback = next(name for _, name in socket.if_nameindex() if name.startswith("lo"))
        shared = os.environ | {
            "PYTHONPATH": ".", "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": loopback, "WORLD_SIZE": str(count),
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(20_000 + os.getpid() % 10_000),
        }
        processes = [
            subprocess.Popen(
                [sys.executable, str(script), str(run), str(path)], env=shared | {"RANK": str(rank)},
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )
            for rank in range(count)
        ]
        said = [process.communicate(timeout=300)[0] for process in processes]
        assert not any(process.returncode for process in processes), "\n".join(said)
        results.append(read_tensors(path)[0])
    one, two = results
    assert one.keys() == two.keys() and any(grad.abs().max() > 1e-4 for grad in one.values())
    for name, grad in one.items():
        torch.testing.assert_close(two[name], grad, atol=1e-5, rtol=1e-4)


def test_processes_that_cannot_share_the_batches_are_told(run):
    with pytest.raises(ValueError, match="2 micro-batches cannot be shared out evenly among 3 processes"):
        Trainer(run, Recipe(**TINY), Process(0, 3, torch.device("cpu")))
