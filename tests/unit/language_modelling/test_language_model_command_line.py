import json

import numpy as np
import pytest

from transformer.checkpoints.checkpoint import load_language_model
from transformer.commands.language_model import main
from transformer.language_modelling.continuation import continue_text
from transformer.language_modelling.head_scores import head_scores
from transformer.values.decoding_settings import DecodingSettings


@pytest.fixture
def folder(gpt2_folder, huggingface):
    return gpt2_folder


@pytest.mark.parametrize("name", ["continue", "score", "evaluate", "heads"])
def test_every_command_has_help(run_main, name):
    done = run_main(main, name, "--help")
    assert done.returncode == 0 and "--model" in done.stdout


def test_continue_command_continues_each_line(run_main, folder, tmp_path):
    file = tmp_path / "beginnings.txt"
    file.write_text("The cat\nI have\n", encoding="utf-8")
    loaded = load_language_model(folder, "cpu")
    settings = DecodingSettings(method="sample", seed=3, temperature=0.8)
    expected = [
        continue_text(loaded.model, loaded.tokenizer, text, settings, limit=5) for text in ("The cat", "I have")
    ]
    done = run_main(
        main,
        "continue",
        "--model",
        folder,
        "--device",
        "cpu",
        "--file",
        file,
        "--method",
        "sample",
        "--seed",
        3,
        "--temperature",
        0.8,
        "--limit",
        5,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "".join(f"{found.text}{'' if found.complete else ' …'}\n" for found in expected)


def test_score_command_prints_the_score_of_every_token(run_main, folder):
    done = run_main(main, "score", "The cat sat.", "--model", folder, "--device", "cpu")
    assert done.returncode == 0, done.stderr
    text, sums, *tokens = done.stdout.splitlines()
    assert text == "The cat sat." and "bits per byte" in sums
    total = float(sums.split()[1].rstrip(","))
    assert total == pytest.approx(sum(float(line.split()[0]) for line in tokens), abs=0.05)


def test_score_command_makes_spaces_line_breaks_and_bytes_visible(run_main, folder):
    done = run_main(main, "score", "the é\n", "--model", folder, "--device", "cpu")
    labels = [line.split(maxsplit=1)[1] for line in done.stdout.splitlines()[3:]]
    assert labels == ["t", "he", "␣", "é <0xC3>", "é <0xA9>", "↵"]


def test_evaluate_command_skips_texts_from_the_training_data(run_main, folder, tmp_path):
    data, training = tmp_path / "data.tsv", tmp_path / "training.tsv"
    data.write_text("The cat.\tDie Katze.\nThe cat.\tEine Katze.\n" + "a b c " * 40 + "\tx\n", encoding="utf-8")
    training.write_text("The dog.\tDer Hund.\nThe cat.\tDie Katze.\n", encoding="utf-8")
    done = run_main(main, "evaluate", "--data", data, "--baseline", training, "--model", folder, "--device", "cpu")
    assert done.returncode == 0, done.stderr
    left_out, *rows = done.stdout.splitlines()
    assert left_out.startswith("left out 1 texts")
    assert [row.split(":")[0] for row in rows] == ["this model", "single tokens", "token pairs"]
    assert all("(1 texts" in row for row in rows)


def test_heads_command_names_only_heads_above_the_threshold(run_main, folder, tmp_path):
    output = tmp_path / "heads.json"
    done = run_main(main, "heads", "--model", folder, "--device", "cpu", "--output", output)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("too low for the name") == 9, "random weights have no such head"
    written = json.loads(output.read_text())
    loaded = load_language_model(folder, "cpu")
    assert written["model"] == loaded.version and written["induction"]["named"] == []
    scores = head_scores(loaded.model).induction
    np.testing.assert_allclose(written["induction"]["scores"], scores, atol=1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("score", ""), "There is no text"),
        (("continue", "x", "--limit", 0), "limit must be at least 1"),
        (("continue", "x", "--limit", 10**9), "--limit must be at most 65,536"),
        (("continue", "x", "--seed", 10**20, "--method", "sample"), "seed must be 0 to"),
        (("continue", "--file", "nowhere.txt"), "there is no file nowhere.txt"),
        (("continue", "x", "--method", "sample", "--temperature", 0), "temperature"),
    ],
)
def test_invalid_arguments_give_a_one_line_error(run_main, folder, arguments, message):
    done = run_main(main, *arguments, "--model", folder, "--device", "cpu")
    assert done.returncode == 1 and message in done.stderr and done.stderr.count("\n") == 1
