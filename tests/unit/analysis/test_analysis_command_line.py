import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.pipes import no_pipes, piped
from transformer.ablation.estimate import Estimate
from transformer.analysis.heads.statistics import Statistics, statistics_of
from transformer.commands.measure import main
from transformer.commands.progress import ProgressReport
from transformer.measurements.agreement import AgreementStatistics
from transformer.measurements.corpus import NO_METRICS
from transformer.measurements.importance import ImportanceStatistics
from transformer.measurements.removal import RemovalQuality, pairs_digest
from transformer.running.translator import Translator
from transformer.training.data import read_pairs
from transformer.values.head_means import sentences_digest
from transformer.values.kinds import KINDS

SENTENCES = Path(__file__).parents[3] / "assets" / "sentences.txt"


def test_measure_command_measures_the_sentences_in_a_file(model_folder, small_translator, tmp_path, run_main):
    sentences, output = tmp_path / "sentences.txt", tmp_path / "heads.json"
    sentences.write_text("I have a dream.\n\nA dog\n", encoding="utf-8")
    done = run_main(
        main, "measure", "--sentences", sentences, "--output", output, "--model", model_folder, "--device", "cpu"
    )
    assert done.returncode == 0 and done.stderr == "" and done.stdout.startswith("2 sentences\n")
    found = Statistics.from_json(output.read_text(encoding="utf-8"))
    traces = [small_translator.trace(text) for text in ("I have a dream.", "A dog")]
    expected = statistics_of(traces, small_translator.tokenizer, small_translator.version)
    assert (found.sentences, found.model) == (2, small_translator.version)
    np.testing.assert_allclose(
        found.heads["encoder"].values["entropy"], expected.heads["encoder"].values["entropy"], atol=1e-4
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_measure_command_keeps_its_partial_results_if_the_disk_is_full(model_folder, tmp_path, run_main):
    sentences, output = tmp_path / "sentences.txt", tmp_path / "heads.json"
    sentences.write_text("I have a dream.\n", encoding="utf-8")
    output.symlink_to("/dev/full")
    command = (main, "measure", "--sentences", sentences, "--output", output, "--model", model_folder)
    done = run_main(*command)
    assert done.returncode == 1 and done.stderr.startswith("error: ") and (tmp_path / "heads.json.partial").exists()
    output.unlink()
    assert run_main(*command).returncode == 0
    assert output.exists() and not (tmp_path / "heads.json.partial").exists()


def test_folder_is_rejected_as_an_output_file(model_folder, tmp_path, run_main):
    done = run_main(main, "measure", "--sentences", SENTENCES, "--output", tmp_path, "--model", model_folder)
    assert done.returncode == 1 and done.stderr.startswith(f"error: {tmp_path} is a folder: name a file, such as")


def test_unusable_sentence_file_gives_a_one_line_error(model_folder, tmp_path, run_main):
    empty = tmp_path / "empty.txt"
    empty.write_text("\n \n", encoding="utf-8")
    latin = tmp_path / "latin.txt"
    latin.write_bytes("Grün".encode("latin-1"))
    for sentences in (empty, latin, tmp_path / "nowhere.txt"):
        output = ("--output", tmp_path / "heads.json")
        done = run_main(main, "measure", "--sentences", sentences, *output, "--model", model_folder)
        assert done.returncode == 1 and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


def test_shipped_sentences_are_distinct_and_of_moderate_length():
    sentences = SENTENCES.read_text(encoding="utf-8").splitlines()
    assert len(sentences) == len(set(sentences)) == 200
    assert all(3 <= len(sentence.split()) <= 20 for sentence in sentences)
    assert sum(sentence.endswith("?") for sentence in sentences) >= 20
    assert not any("Tom" in sentence for sentence in sentences)


def test_means_importance_and_removal_commands_write_their_files(model_folder, tmp_path, run_main):
    folder, sentences, pairs = tmp_path / "model", tmp_path / "sentences.txt", tmp_path / "pairs.tsv"
    shutil.copytree(model_folder, folder)
    sentences.write_text("I have a dream.\nA dog\n", encoding="utf-8")
    pairs.write_text("A dog.\tEin Hund.\nI have a dream.\tIch habe einen Traum.\n", encoding="utf-8")
    common = ("--model", folder, "--device", "cpu")
    assert run_main(main, "means", "--sentences", sentences, *common).returncode == 0
    translator = Translator.load(folder, "cpu")
    assert translator.means.model == translator.version and translator.means.outputs["cross"].shape == (3, 4, 8)

    importance, removal = tmp_path / "importance.json", tmp_path / "removal.json"
    done = run_main(main, "importance", "--sentences", sentences, "--output", importance, "--mode", "mean", *common)
    assert done.returncode == 0 and done.stdout.startswith("2 sentences, mode mean\n")
    found = ImportanceStatistics.from_json(importance.read_text(encoding="utf-8"))
    assert (found.model, found.sentences, found.mode) == (translator.version, 2, "mean")

    done = run_main(
        main, "removal", "--data", pairs, "--importance", importance, "--output", removal, "--every", "20", *common
    )
    recorded = RemovalQuality.from_json(removal.read_text(encoding="utf-8"))
    points = recorded.points
    assert (recorded.model, recorded.mode, recorded.data, recorded.pairs) == (
        translator.version,
        "zero",
        "pairs.tsv",
        2,
    )
    assert recorded.digest == pairs_digest(read_pairs(pairs)) != pairs_digest(read_pairs(pairs)[:1])
    assert done.returncode == 0 and [point.removed for point in points[:3]] == [0, 20, 32]
    assert {point.order for point in points} == {"measured", "gradient", "random 0", "random 1", "random 2"}
    assert len({point.chrf for point in points if point.removed == 0}) == 1


def test_agreement_command_writes_its_file(model_folder, small_translator, tmp_path, run_main):
    sentences, output = tmp_path / "sentences.txt", tmp_path / "agreement.json"
    sentences.write_text("The old man reads a book.\nI have a dream.\n", encoding="utf-8")
    done = run_main(
        main, "agreement", "--sentences", sentences, "--output", output, "--model", model_folder, "--device", "cpu"
    )
    assert done.returncode == 0 and "Kendall's tau with erasure" in done.stdout and "alti: " in done.stdout
    found = AgreementStatistics.from_json(output.read_text(encoding="utf-8"))
    assert found.model == small_translator.version and found.sentences + found.left_out == 2


def remove_by(importance, model_folder, run_main):
    """Run the removal command with a file of head importances."""
    pairs, output = importance.with_name("pairs.tsv"), importance.with_name("removal.json")
    pairs.write_text("A dog.\tEin Hund.\n", encoding="utf-8")
    files = ("--data", pairs, "--importance", importance, "--output", output, "--model", model_folder)
    return run_main(main, "removal", *files)


def test_head_importance_of_another_model_gives_a_one_line_error(model_folder, tmp_path, run_main):
    other = ImportanceStatistics("another", "zero", 1, "", *[_nothing()] * 2, _zeros(), _estimate(np.zeros(())))
    (tmp_path / "importance.json").write_text(other.to_json(), encoding="utf-8")
    done = remove_by(tmp_path / "importance.json", model_folder, run_main)
    assert done.returncode == 1 and "was measured on another model" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("content", [b"", b"\xff", b"[]", b"{}", b"[" * 100_000], ids=range(5))
def test_file_without_head_importance_gives_a_one_line_error(model_folder, tmp_path, run_main, content):
    path = tmp_path / "importance.json"
    path.write_bytes(content)
    done = remove_by(path, model_folder, run_main)
    assert done.returncode == 1 and done.stderr.startswith(f"error: cannot read head importance from {path} (")
    assert done.stderr.count("\n") == 1


def test_shipped_mean_outputs_belong_to_the_shipped_sentences(shipped):
    """If this fails because the model or the sentences have changed, recreate the means with
    `python -m transformer.analysis means`.
    """
    assert shipped.means is not None, "the means beside the model belong to another one"
    sentences = SENTENCES.read_text(encoding="utf-8").splitlines()
    assert shipped.means.sentences == sentences_digest(sentences)
    encoded = [tuple(shipped.tokenizer.encode_ids(text)) for text in sentences]
    assert [source for source, _ in shipped.means.pairs] == encoded


@no_pipes
@pytest.mark.parametrize("command", ["gallery", "importance", "agreement", "means"])
def test_sentences_can_be_read_from_a_pipe(model_folder, tmp_path, run_main, command):
    folder = shutil.copytree(model_folder, tmp_path / "model")
    output = () if command == "means" else ("--output", tmp_path / "found.json")
    with piped("The old man reads a book.\nI have a dream.\n") as pipe:
        done = run_main(main, command, "--sentences", pipe, *output, "--model", folder, "--device", "cpu")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(("2 sentences", "wrote the heads' mean outputs over 2 sentences"))


def _zeros():
    return {kind: np.zeros((1, 1)) for kind in KINDS}


def _estimate(values):
    return Estimate(values, values, values)


def _nothing():
    return {kind: _estimate(values) for kind, values in _zeros().items()}


def test_reported_speed_counts_the_sentences_of_both_processes(tmp_path, monkeypatch, capsys):
    file = tmp_path / "sentences.txt"
    file.write_text("A dog\n" * 6_000, encoding="utf-8")
    clock = ProgressReport(file, processes=2)
    # Two processes each finish 240 sentences in 12 seconds, so together they finish 40 sentences per second.
    for number, now in enumerate((100.0, 100.2, 112.0, 112.2, 124.0, 124.2, 136.0), start=1):
        monkeypatch.setattr("time.monotonic", lambda now=now: now)
        clock.report(240 * number, NO_METRICS)
    assert capsys.readouterr().err.splitlines() == [
        "720 of 6,000 sentences, 40 a second, 0:02:12 left",
        "1,200 of 6,000 sentences, 40 a second, 0:02:00 left",
        "1,680 of 6,000 sentences, 40 a second, 0:01:48 left",
    ]


@pytest.mark.parametrize("processes", [0, 1_000_000])
def test_invalid_process_count_gives_a_one_line_error(tmp_path, run_main, processes):
    done = run_main(main, "measure", "--processes", processes, "--output", tmp_path / "heads.json")
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: --processes must be at least 1 and at most 256, not ")
