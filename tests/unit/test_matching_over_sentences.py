from copy import copy

import numpy as np
import pytest

from transformer.checkpoints.checkpoint import Checkpoint
from transformer.commands.measure import main
from transformer.measurements import matching
from transformer.measurements.matching import HeadMatches, match_heads, shared_kinds, untrained_model
from transformer.model.devices import available_devices
from transformer.running.translator import Translator
from transformer.text.languages import Languages, language
from transformer.values.kinds import KINDS

SENTENCES = "I have a dream.", "The children play.", "She gave the book to her brother.", "It was too tired", "A dog"


@pytest.fixture
def sentences(tmp_path):
    path = tmp_path / "sentences.txt"
    path.write_text("\n".join(SENTENCES), encoding="utf-8")
    return path


def in_languages(translator, source, target):
    model = untrained_model(translator)
    return Translator(
        Checkpoint(model._model, model.tokenizer, Languages(language(source), language(target))),
        device="cpu",
        version=target,
    )


def test_every_head_matches_itself_if_a_model_is_compared_with_itself(
    model_folder, small_translator, sentences, tmp_path, run_main
):
    output = tmp_path / "matches.json"
    options = "--sentences", sentences, "--output", output, "--device", "cpu"
    done = run_main(main, "match", "--model", model_folder, "--other", model_folder, *options)
    assert done.returncode == 0 and done.stdout.startswith("5 sentences\nencoder: similarity of matched heads 1.000")
    found = HeadMatches.from_json(output.read_text(encoding="utf-8"))
    assert found.model == found.other == small_translator.version and not found.skipped
    for kind, each in found.kinds.items():
        assert each.match == tuple(range(4 * small_translator.config.layers_of(kind)))
        assert each.mean.low == pytest.approx(1, abs=1e-5)
        assert max(each.mean_shuffled.high, each.mean_random.high) < 0.99
        assert np.isclose(each.shuffled.mean.mean(), each.mean_shuffled.mean, atol=1e-5)
    assert list(tmp_path.glob("*.partial")) == []


def test_resumed_measurement_gives_the_same_result_as_an_uninterrupted_one(
    small_translator, sentences, tmp_path, monkeypatch
):
    monkeypatch.setattr(matching, "BATCH_SIZE", 2)
    other, state = untrained_model(small_translator, seed=3), tmp_path / "state"
    whole = match_heads(small_translator, other, sentences, tmp_path / "whole")

    def stop(read, so_far):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        match_heads(small_translator, other, sentences, state, stop)
    reads = []
    resumed = match_heads(small_translator, other, sentences, state, lambda read, so_far: reads.append(read))
    assert reads == [4, 5] and resumed.to_json() == whole.to_json()
    with pytest.raises(ValueError, match="contains measurements of another model"):
        match_heads(other, small_translator, sentences, state)


def test_models_with_different_target_languages_match_encoder_heads_only(small_translator, sentences, tmp_path):
    french = in_languages(small_translator, "en", "fr")
    found = match_heads(small_translator, french, sentences, tmp_path / "state")
    assert list(found.kinds) == ["encoder"] and found.sentences == len(SENTENCES)


def test_models_of_different_source_languages_are_rejected(small_translator):
    with pytest.raises(ValueError, match="the models read English and French"):
        shared_kinds(small_translator, in_languages(small_translator, "fr", "de"), "")


def test_language_codes_in_the_text_decide_which_heads_can_be_matched(small_translator):
    def reads_codes(source, target):
        model = in_languages(small_translator, source, target)
        model.tokenizer = copy(model.tokenizer)
        model.tokenizer.codes = "<<de>>", "<<en>>", ">>de<<", ">>fr<<"
        return model

    many, english, german = (
        reads_codes("en", "de"),
        in_languages(small_translator, "en", "de"),
        in_languages(small_translator, "de", "fr"),
    )
    with pytest.raises(ValueError, match="the models read German and English"):
        shared_kinds(many, english, "<<de>> Ein Hund.")
    assert shared_kinds(many, german, "<<de>> Ein Hund.") == ("encoder",)
    assert shared_kinds(many, german, "<<de>> >>fr<< Ein Hund.") == KINDS
    assert shared_kinds(german, many, "Ein Hund.") == KINDS


def test_untrained_model_depends_only_on_its_seed(small_translator):
    first, again, other = (untrained_model(small_translator, seed).trace("A dog").encoder for seed in (1, 1, 2))
    assert np.array_equal(first, again) and first.shape == other.shape and not np.allclose(first, other)


def test_untrained_model_uses_an_available_device(small_translator, monkeypatch):
    monkeypatch.setattr(small_translator, "device", "the server's")
    assert untrained_model(small_translator).device in available_devices()
