import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from transformer.ablation.effect import effect_of
from transformer.ablation.patching import patch_interventions
from transformer.commands.translate import main
from transformer.running.translator import Translator
from transformer.values.head_means import HeadMeans
from transformer.values.interventions import Interventions
from transformer.values.trace import Trace


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "transformer", *map(str, arguments)], capture_output=True, text=True, encoding="utf-8"
    )


@pytest.mark.thorough
def test_translate_command_prints_the_translation_and_writes_the_trace(model_folder, small_translator, tmp_path):
    path = tmp_path / "dream.npz"
    done = command("translate", "I have a dream.", "--model", model_folder, "--device", "cpu", "--trace", path)
    assert done.returncode == 0 and done.stderr == ""
    trace = small_translator.trace("I have a dream.")
    assert done.stdout.rstrip("\n") == trace.target_text
    written = Trace.from_npz(path)
    np.testing.assert_allclose(written.cross, trace.cross, atol=1e-6)
    assert written.encoder.shape == trace.encoder.shape


def test_translate_command_prints_json_for_a_given_translation(model_folder, run_main):
    done = run_main(main, "translate", "A dog.", "--target", "Ein Hund.", "--model", model_folder, "--json")
    assert json.loads(done.stdout)["target_text"] == "Ein Hund."


def test_translate_command_switches_heads_off(model_folder, small_translator, tmp_path, run_main):
    """Heads are 1-based on the command line, and 0-based in Python."""
    path = tmp_path / "off.npz"
    done = run_main(
        main,
        "translate",
        "A dog.",
        "--target",
        "Ein Hund.",
        "--off",
        "cross.1.4",
        "--off",
        "encoder.2.1",
        "--mode",
        "uniform",
        "--model",
        model_folder,
        "--device",
        "cpu",
        "--trace",
        path,
        "--json",
    )
    changes = Interventions(gates={("cross", 0, 3): 0.0, ("encoder", 1, 0): 0.0}, mode="uniform")
    expected = small_translator.trace("A dog.", "Ein Hund.", interventions=changes)
    for trace in (Trace.from_json(done.stdout), Trace.from_npz(path)):
        assert trace.interventions == changes
        np.testing.assert_allclose(trace.log_probs, expected.log_probs, atol=1e-6)


def test_translate_command_patches_positions(model_folder, small_translator, run_main):
    arguments = ("translate", "A dog.", "--target", "Ein Hund.", "--model", model_folder, "--device", "cpu", "--json")
    patches = ("--patch", "encoder.residual.1~2", "--patch", "cross.outputs.1.4~1")
    done = run_main(main, *arguments, *patches, "--other", "A cat.")
    other = small_translator.trace("A cat.", "Ein Hund.")
    changed = patch_interventions({("encoder.residual", 1, 0, 1): 1, ("cross.outputs", 0, 3, 0): 0}, other)
    trace, expected = Trace.from_json(done.stdout), small_translator.trace("A dog.", "Ein Hund.", interventions=changed)
    assert trace.interventions == changed
    np.testing.assert_allclose(trace.log_probs, expected.log_probs, atol=1e-6)
    assert run_main(main, *arguments, *patches).stderr.startswith("error: --patch and --other must be used together")


@pytest.fixture
def folder_with_means(model_folder, small_translator, tmp_path):
    folder = shutil.copytree(model_folder, tmp_path / "model")
    texts = "I have a dream.", "The children play with the dog.", "A dog."
    traces = (small_translator.trace(text, "Ein Hund.", details=True) for text in texts)
    HeadMeans.over(traces, small_translator.version, "made up").save(folder)
    return folder


def test_translate_command_resamples_heads_like_the_library(folder_with_means, tmp_path, run_main):
    path, translator = tmp_path / "off.npz", Translator.load(folder_with_means, "cpu")
    arguments = (
        "translate",
        "A dog.",
        "--off",
        "cross.1.4",
        "--off",
        "encoder.2.1",
        "--mode",
        "resample",
        "--draws",
        "5",
        "--seed",
        "3",
        "--model",
        folder_with_means,
        "--device",
        "cpu",
    )
    done = run_main(main, *arguments, "--trace", path, "--json")
    off = Interventions({("cross", 0, 3): 0.0, ("encoder", 1, 0): 0.0}, "resample", seed=3)
    effect = effect_of(translator, "A dog.", off, draws=5)
    for trace in (Trace.from_json(done.stdout), Trace.from_npz(path)):
        assert trace.interventions == off and trace.target_text == effect.translations[0]
        np.testing.assert_allclose(trace.log_probs, effect.free.log_probs, atol=1e-6)
    drawn = json.loads(done.stdout)["resampled"]
    assert (drawn["seed"], drawn["draws"], drawn["reference"]) == (3, 5, "made up")
    assert tuple(drawn["translations"]) == effect.translations and drawn["unchanged"] == effect.unchanged
    np.testing.assert_allclose(drawn["changes"], effect.scores.change, atol=1e-6)
    assert drawn["mean"] == pytest.approx(np.mean(drawn["changes"])) and drawn["low"] < drawn["mean"] < drawn["high"]

    lines = run_main(main, *arguments).stdout.splitlines()
    assert sum(int(line.split()[0]) for line in lines[:-1]) == 5 and " of 5 draws: " in lines[0]
    assert lines[-1].startswith("The log-probability of the translation with every head on changes by ")
    assert f"{drawn['mean']:+.4f} nats" in lines[-1] and "seed 3" in lines[-1]
    given = run_main(main, *arguments, "--target", "Ein Hund.", "--json")
    assert Trace.from_json(given.stdout).target_text == "Ein Hund."


@pytest.mark.parametrize(
    "arguments",
    [
        ("--off", "cross.1.1", "--seed", "1"),
        ("--off", "cross.1.1", "--mode", "mean", "--draws", "8"),
        ("--mode", "resample"),
        ("--off", "cross.1.1", "--mode", "resample", "--draws", "1"),
        ("--off", "cross.1.1", "--mode", "resample", "--draws", "100000000"),
        ("--off", "cross.1.1", "--mode", "resample", "--seed", "-1"),
        ("--off", "cross.9.1", "--mode", "resample"),
    ],
    ids=" ".join,
)
def test_invalid_resampling_options_are_reported_in_one_line(folder_with_means, run_main, arguments):
    done = run_main(main, "translate", "A dog.", "--model", folder_with_means, *arguments)
    assert done.returncode == 1 and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


def test_info_command_lists_the_parts_of_the_model_and_its_parameter_count(model_folder, small_translator, run_main):
    done = run_main(main, "info", "--model", model_folder)
    assert "multi-head cross-attention" in done.stdout and f"{small_translator.parameters:,}" in done.stdout


def test_invalid_arguments_are_reported_in_one_line(model_folder, tmp_path, run_main):
    for arguments in (
        ("translate", "", "--model", model_folder),
        ("info", "--model", tmp_path),
        ("translate", "x", "--model", model_folder, "--off", "cross.0.1"),
        ("translate", "x", "--model", model_folder, "--off", "cross.9.1"),
        ("translate", "x", "--model", model_folder, "--off", "cross.1.1", "--mode", "mean"),
        ("translate", "x", "--model", model_folder, "--off", "cross.1.1", "--mode", "resample"),
        ("translate", "x", "--model", model_folder, "--trace", tmp_path / "no" / "such" / "folder.npz"),
    ):
        done = run_main(main, *arguments)
        assert done.returncode == 1 and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
