import csv
import math
import random
import shutil
from pathlib import Path

import pytest
import torch

from tests.damages import damage_file
from tests.full_disk import full_disk
from tests.unit.training.tiny_runs import TINY, assert_continues_exactly, copy_prepared, trainer
from tests.unit.training.two_processes import two_processes
from transformer.checkpoints.available_models import FOLDER_VARIABLE, model_folders
from transformer.checkpoints.checkpoint import load_checkpoint
from transformer.checkpoints.model_files import copy_weights
from transformer.checkpoints.model_texts import CURVE
from transformer.files.paths import measurement_file
from transformer.files.tensors import read_tensors
from transformer.running.translator import Translator
from transformer.training.averaging import average
from transformer.training.config import TrainConfig
from transformer.training.distributed import Process
from transformer.training.evaluate import evaluate
from transformer.training.prepare import prepare
from transformer.training.run_folder import STATE, RunFolder
from transformer.training.trainer import DivergedError, Trainer

ROOT = Path(__file__).parents[3]
WORDS = {"one": "eins", "two": "zwei", "three": "drei", "red": "rot", "blue": "blau", "cat": "Katze", "dog": "Hund"}


def pairs(count, seed):
    rng = random.Random(seed)
    for _ in range(count):
        words = rng.choices(list(WORDS), k=rng.randrange(1, 6))
        yield " ".join(words), " ".join(WORDS[word] for word in words)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory, tokenizer):
    return prepared_pairs(tmp_path_factory.mktemp("prepared"), tokenizer)


def prepared_pairs(folder, tokenizer, seed=1):
    """Prepare the folder "run" with random sentence pairs and a given vocabulary."""
    for name, count, each in (("train.tsv", 300, seed), ("dev.tsv", 20, seed + 1)):
        (folder / name).write_text("".join(f"{a}\t{b}\n" for a, b in pairs(count, each)), encoding="utf-8")
    (folder / "given").mkdir()
    (folder / "given" / "tokenizer.model").write_bytes(tokenizer.serialized)
    files = {"data": [folder / "train.tsv"], "validation": folder / "dev.tsv"}
    prepare(folder / "run", **files, start=folder / "given", sampled=0)
    return folder


@pytest.fixture(scope="module")
def three_steps(prepared, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained") / "run"
    shutil.copytree(prepared / "run", folder)
    trainer(folder, steps=3).train()
    return folder


@pytest.fixture
def trained(three_steps, tmp_path):
    """Return the folder of a finished training run of three steps."""
    return shutil.copytree(three_steps, tmp_path / "run")


@pytest.mark.thorough
def test_model_learns_a_dictionary(run, prepared):
    trainer(run, steps=160, micro_batches=1, learning_rate=0.01, dropout=0.0, label_smoothing=0.0, warmup=10).train()
    scores = evaluate(run / "model", prepared / "dev.tsv", device="cpu")
    assert scores.sentences == 20 and scores.chrf > 60
    assert "nrefs:1" in scores.bleu_signature and "version" in scores.chrf_signature
    assert 0.8 < scores.length_ratio < 1.2


def test_interrupted_and_uninterrupted_training_give_the_same_result(run):
    assert_continues_exactly(lambda: trainer(run))


def test_run_is_not_resumed_with_another_config(run):
    training = trainer(run)
    training.take_step()
    training._save()
    assert trainer(run, steps=9, cooldown=0.1).step == 1
    with pytest.raises(ValueError, match="started with learning_rate 0.002, not 0.5"):
        trainer(run, learning_rate=0.5)
    state = training.folder.state()
    state.progress["config"].pop("positions")
    training.folder.save_state(state)
    with pytest.raises(ValueError, match="started with positions , not rotary"):
        trainer(run, positions="rotary")


def test_training_run_started_from_a_model_begins_with_the_weights_of_that_model(run, tmp_path_factory):
    trainer(run, steps=4, average=1).train()
    other = copy_prepared(run, tmp_path_factory.mktemp("other"))
    again = trainer(other, start=run / "model")
    assert again.step == 0
    expected = dict(load_checkpoint(run / "model").model.named_parameters())
    for name, parameter in again.model.named_parameters():
        assert torch.equal(parameter, expected[name]), name
    with pytest.raises(ValueError, match="differs from this run in shape"):
        trainer(other, start=run / "model", d_ff=32)


def test_run_with_another_vocabulary_starts_from_the_model_embeddings(run, prepared, tmp_path):
    """A token in both vocabularies keeps its embedding; a new token gets the mean embedding of the tokens that spell it
    in the old vocabulary.
    """
    trainer(run, steps=4, average=1).train()
    given = load_checkpoint(run / "model")
    other = tmp_path / "other"
    prepare(other, data=[prepared / "train.tsv"], validation=prepared / "dev.tsv", vocabulary=410)
    again = trainer(other, start=run / "model")
    old, new = given.tokenizer, again.tokenizer
    weights = dict(again.model.named_parameters())
    rows, biases = given.model.source_embedding.weight, given.model.generator.bias
    for name, expected in (("source_embedding.weight", rows), ("generator.bias", biases)):
        shared = new.texts.index("e")
        torch.testing.assert_close(weights[name][shared], expected[old.texts.index(new.texts[shared])])
        token = new.texts.index("▁Katze")
        spelt = old.spell("▁Katze")
        assert len(spelt) > 1 and old.decode(spelt) == "Katze"
        torch.testing.assert_close(weights[name][token], expected[spelt].mean(dim=0))
    for name, parameter in given.model.named_parameters():
        if parameter.shape == weights[name].shape:
            torch.testing.assert_close(weights[name], parameter)
    assert math.isfinite(again.take_step()[0])


@pytest.mark.parametrize("changes", [{"learning_rate": 1e30}, {"learning_rate": 1e12, "warmup": 0}])
def test_run_that_diverges_before_its_first_checkpoint_saves_nothing(run, changes):
    with pytest.raises(DivergedError, match="diverged: .* no checkpoint exists yet.* lower --learning-rate"):
        trainer(run, steps=40, **changes).train()
    assert not (run / STATE).exists() and not (run / "model").exists()


def test_non_finite_loss_stops_training_without_changing_a_weight(run):
    training = trainer(run, steps=40)
    training.take_step()
    training._save()
    with torch.no_grad():
        training.model.decoder_norm.bias[0] = math.inf
    before = {name: parameter.clone() for name, parameter in training.model.named_parameters()}
    with pytest.raises(DivergedError, match="loss of step 2 is (nan|inf); the last checkpoint is from step 1"):
        training.train()
    for name, parameter in training.model.named_parameters():
        assert torch.equal(parameter, before[name]), name
    with pytest.raises(DivergedError, match="weights are not finite"):
        training._save()
    assert trainer(run, steps=40).step == 1


def test_averaged_checkpoint_is_the_mean_of_the_weights():
    one, other = ({"w": torch.tensor(values)} for values in ([1.0, 4.0], [3.0, -2.0]))
    assert average([one, other])["w"].tolist() == [2.0, 1.0]


def test_reported_loss_is_the_mean_over_the_tokens_of_all_steps(run):
    training = trainer(run, steps=2)
    (one, first, _), (two, second, _) = training.take_step(), training.take_step()
    found, *_ = trainer(run, steps=2)._take_reported_steps(0.0)
    assert one != two and found == pytest.approx((one + two) / (first + second))


def test_finished_model_is_the_checkpoint_average_with_the_lowest_validation_loss(run):
    training = trainer(run, steps=30, micro_batches=1, average=3, learning_rate=0.01, save_minutes=0.0)
    while training.step < 30:
        training.take_step()
        if training.step in (1, 2, 29, 30):
            training._save()
    training.train()
    kept = RunFolder(run).last_weights()
    assert len(kept) == 3
    losses = []
    for count in (1, 2, 3):
        copy_weights(average(kept[-count:]), training.model)
        losses.append(training.validation_loss())
    best = losses.index(min(losses)) + 1
    assert best < 3, "the weights of step 2 are no help"
    expected = average(kept[-best:])
    for name, parameter in load_checkpoint(run / "model").model.named_parameters():
        torch.testing.assert_close(parameter, expected[name], atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize(
    "sizes", [{"layers": 1000, "d_ff": 10**8}, {"d_ff": 2**31 - 1}, {"d_model": 2**31 - 2, "heads": 1}], ids=str
)
def test_model_too_large_for_any_machine_is_rejected_before_memory_is_allocated(run, sizes):
    with pytest.raises(ValueError, match="parameters needs at least .* of memory for training"):
        trainer(run, **sizes)


def test_largest_allowed_seed_gives_a_finite_loss(run):
    training = trainer(run, seed=2**31 - 1)
    training.step = 3
    assert math.isfinite(training.take_step()[0])


def test_training_step_that_needs_more_data_than_exists_is_rejected(run):
    with pytest.raises(ValueError, match="--micro-batches must be at most"):
        trainer(run, micro_batches=1000)


@pytest.mark.parametrize(("name", "how"), [("train.safetensors", "flip"), (STATE, "flip"), (STATE, "cut")])
def test_damaged_run_file_is_reported(trained, name, how):
    """The state is read before training continues, so a run that cannot continue keeps its weights."""
    damage_file(trained, how, name, place=0.5, added=b"\4")
    with pytest.raises(ValueError, match=f"{name}.*(is damaged|was altered or damaged)"):
        trainer(trained, steps=4)
    assert (trained / "weights-0000003.safetensors").exists()


def test_training_resumes_after_preparing_the_data_again_only_if_the_data_is_unchanged(trained, prepared):
    """Training used to continue on different data of the same length, and to mark the useless model as valid."""
    files = {"data": [prepared / "train.tsv"], "validation": prepared / "dev.tsv"}
    prepare(trained, **files, start=prepared / "given")
    assert trainer(trained, steps=4).step == 3
    turned = {**files, "start": prepared / "given", "turned": True}
    for changes, name in (
        (turned, "train.safetensors"),
        ({**files, "start": prepared / "given", "seed": 2}, "train.safetensors"),
        ({**files, "vocabulary": 400}, "tokenizer.model"),
        ({**files, "vocabulary": 410}, "tokenizer.model"),
    ):
        prepare(trained, **changes)
        with pytest.raises(ValueError, match=f"was started with a different {name}: prepare .* delete {STATE}"):
            trainer(trained, steps=4)
    (trained / STATE).unlink()
    assert trainer(trained, steps=4).step == 0


def test_saved_checkpoints_load_as_models_with_their_weights(trained, monkeypatch):
    trainer(trained, steps=5).train()
    runs = trained.parent
    monkeypatch.setenv(FOLDER_VARIABLE, str(runs))
    found = model_folders()
    assert {"run", "run-3", "run-5"} <= found.keys() and not any(each.problem for each in found.values())
    loaded = {name: load_checkpoint(found[name].path) for name in ("run", "run-3", "run-5")}
    assert len({each.version for each in loaded.values()}) == 3
    weights = RunFolder(trained).last_weights()
    for name, step in (("run-3", weights[0]), ("run-5", weights[-1])):
        assert all(torch.equal(step[key], value) for key, value in loaded[name].model.named_parameters())
    translator = Translator.load(found["run-3"].path, "cpu")
    assert translator.folder == trained / "weights-0000003.safetensors"
    assert measurement_file(translator.folder, "x.json") == trained / "weights-0000003.x.json"


def test_deleted_weights_are_restored_from_the_training_state(trained):
    before = read_tensors(trained / "model" / "model.safetensors")[0]
    (trained / "weights-0000003.safetensors").unlink()
    (trained / "weights-old.safetensors").write_text("somebody's own")
    trainer(trained, steps=3).train()
    after = read_tensors(trained / "model" / "model.safetensors")[0]
    assert after.keys() == before.keys() and all(torch.equal(after[name], before[name]) for name in before)
    assert (trained / "weights-old.safetensors").exists(), "it is no file of the run's"


def test_saved_weights_are_listed_in_step_order(tmp_path):
    """Covers steps beyond ten million, whose file names do not sort in step order."""
    folder = RunFolder(tmp_path)
    for step in (9_999_999, 10_000_000, 10_000_025):
        folder.save_weights(step, {"weight": torch.tensor([float(step)])}, keep=2)
    assert [float(weights["weight"]) for weights in folder.last_weights()] == [10_000_000, 10_000_025]


def test_data_with_another_vocabulary_is_rejected(run):
    (run / "tokenizer.model").write_bytes((ROOT / "assets/models/en-de/tokenizer.model").read_bytes())
    with pytest.raises(ValueError, match="train.safetensors was prepared with a vocabulary other than"):
        trainer(run)


def test_unprepared_folder_is_reported(tmp_path):
    with pytest.raises(ValueError, match="no prepared run in .*: run `prepare"):
        trainer(tmp_path / "nowhere")


@pytest.mark.parametrize(("room", "file"), [(100, "learning_curve.csv"), (60_000, "weights-0000004"), (150_000, STATE)])
def test_full_disk_is_reported_and_the_last_checkpoint_stays(trained, room, file):
    training = trainer(trained, steps=4)
    before = (trained / STATE).read_bytes()
    with full_disk(room), pytest.raises(OSError, match=f"{file}.* could not be written .* the last checkpoint"):
        training.train()
    assert (trained / STATE).read_bytes() == before and not list(trained.rglob("*.unfinished"))
    load_checkpoint(trained / "model")
    trainer(trained, steps=4).train()
    assert trainer(trained, steps=4).step == 4 and load_checkpoint(trained / "model").curve.count("\n") == 3


def test_finished_run_saves_the_model_the_learning_curve_and_the_state(run):
    trainer(run, steps=4).train()
    assert load_checkpoint(run / "model").model.config.d_model == 32
    curve = load_checkpoint(run / "model").curve
    (row,) = csv.DictReader(curve.splitlines())
    assert row["step"] == "4" and float(row["validation_loss"]) > 0 and float(row["pieces_per_second"]) > 0
    assert 0 <= float(row["validation_chrf"]) <= 100
    assert RunFolder(run).state().progress["step"] == 4
    trainer(run, steps=4).train()
    assert load_checkpoint(run / "model").curve == curve, "nothing is left to do"


def test_learning_curve_and_weights_after_the_resumed_step_are_deleted(run):
    """If both were kept, steps would be logged twice, and an average would include weights of another training run."""
    trainer(run, steps=25, micro_batches=1).train()
    checkpoint = (run / STATE).read_bytes()
    trainer(run, steps=35, micro_batches=1).train()
    (run / STATE).write_bytes(checkpoint)
    trainer(run, steps=30, micro_batches=1).train()
    curve = load_checkpoint(run / "model").curve
    assert [row["step"] for row in csv.DictReader(curve.splitlines())] == ["25", "30"]
    assert [path.stem for path in sorted(run.glob("weights-*"))] == ["weights-0000025", "weights-0000030"]
    (run / STATE).unlink()
    assert trainer(run).step == 0 and not (run / "model" / CURVE).exists(), "a new run begins a new curve"


def test_resuming_a_run_with_fewer_steps_than_the_run_has_taken_is_rejected(trained):
    with pytest.raises(ValueError, match="has already taken 3 steps, more than 2"):
        trainer(trained, steps=2)


def test_micro_batches_give_the_gradient_of_the_whole_step(run):
    """The gradient is the mean over all tokens of the step, however they are split."""
    split = trainer(run, dropout=0.0)
    members = [split._members(0), split._members(1)]
    total = sum(split.loss(split.batches.load(m)) for m in members)
    (total / sum(split.batches.load(m).tokens for m in members)).backward()
    expected = {name: p.grad.clone() for name, p in split.model.named_parameters()}
    stepping = trainer(run, dropout=0.0)
    grads = gradients_of_a_step(stepping)
    for name, grad in grads.items():
        torch.testing.assert_close(grad, expected[name], atol=2e-2, rtol=5e-2)


def gradients_of_a_step(training):
    gradients = {}
    training.optimizer.step = lambda factor: (
        gradients.update({name: p.grad.clone() for name, p in training.model.named_parameters()}) or 0.0
    )
    training.take_step()
    return gradients


def unsplit_gradients(run, process):
    """Return one training step's gradients, summed loss and number of tokens, in full precision and without dropout."""
    training = Trainer(run, TrainConfig(**{**TINY, "micro_batches": 4, "dropout": 0.0}), process)
    training._autocast = lambda: torch.autocast("cpu", torch.bfloat16, enabled=False)
    gradients = {}

    def keep(factor):
        gradients.update({name: p.grad.clone() for name, p in training.model.named_parameters()})
        return 0.0

    training.optimizer.step = keep
    loss, tokens, _ = training.take_step()
    return gradients | {"summed": torch.tensor([loss, tokens])}


SECOND_PROCESS = """
from tests.unit.training.test_trainer import unsplit_gradients
unsplit_gradients(Path(sys.argv[1]), process)
"""


@pytest.mark.thorough
def test_two_processes_compute_the_same_gradients_as_one(run):
    one = unsplit_gradients(run, Process(0, 1, torch.device("cpu")))
    with two_processes(SECOND_PROCESS, run) as process:
        two = unsplit_gradients(run, process)
    assert one.keys() == two.keys() and any(grad.abs().max() > 1e-4 for grad in one.values())
    for name, grad in one.items():
        torch.testing.assert_close(two[name], grad, atol=1e-5, rtol=1e-4)


def test_micro_batches_that_cannot_be_divided_evenly_among_processes_are_rejected(run):
    with pytest.raises(ValueError, match="2 micro-batches cannot be divided evenly among 3 processes"):
        Trainer(run, TrainConfig(**TINY), Process(0, 3, torch.device("cpu")))
