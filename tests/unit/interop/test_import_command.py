import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.foreign_models import arabic_model
from tests.full_disk import full_disk
from transformer.analysis.heads.metrics import head_metrics
from transformer.analysis.replay.stages import stages
from transformer.commands.translate import main
from transformer.interop import hub
from transformer.running.translator import Translator
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.kinds import KINDS
from transformer.values.trace import Trace

TEXT = "The old man 🙂 reads a book."


def test_import_command_describes_the_imported_model(peer, tmp_path, run_main):
    (peer.folder / "README.md").write_text(
        "---\nlicense: cc-by-4.0\n---\n# A card\n\n![pixel](https://example.org/x.png) <b>bold</b>", encoding="utf-8"
    )
    output = tmp_path / "models" / "en-de"
    done = run_main(main, "import", peer.folder, "--output", output)
    assert done.returncode == 0
    for said in ("2 + 2 layers, 4 heads, D 16", "English to German", "cc-by-4.0", "one matrix", f"written to {output}"):
        assert said in done.stdout
    card = (output / "README.md").read_text(encoding="utf-8")
    assert card.startswith("### English → German, imported\n") and "# A card\n\npixel bold" in card
    assert "example.org" not in card and "<b>" not in card
    translated = run_main(main, "translate", "The dog.", "--model", output, "--device", "cpu")
    assert translated.returncode == 0
    assert sorted(path.name for path in output.parent.iterdir()) == ["en-de"], "nothing unfinished is left"


def test_imported_model_supports_tracing_head_metrics_and_beam_search(imported, tmp_path):
    trace = imported.trace(TEXT, details=True)
    assert trace.target_tokens[0].role == "start" and trace.source_tokens[-1].role == "end"
    unknown = next(token for token in trace.source_tokens if token.role == "unknown")
    assert TEXT[slice(*unknown.span)] == "🙂"
    trace.to_npz(tmp_path / "trace.npz")
    assert Trace.from_npz(tmp_path / "trace.npz").equals(trace) and Trace.from_json(trace.to_json()).equals(trace)
    for kind in KINDS:
        assert head_metrics(trace, kind, imported.tokenizer.key_scores(kind)).values["entropy"].shape == (2, 4)
    assert len(stages(trace, imported.weights())) > 20
    beam = imported.trace_decoding(TEXT, DecodingSettings("beam", beam_size=3))
    assert beam.translation.tree is not None
    same = imported.trace(TEXT, [token.id for token in beam.translation.tokens])
    np.testing.assert_allclose(same.cross, beam.trace.cross, atol=1e-6)
    assert [each.name for each in imported.languages] == ["English", "German"]


def test_import_keeps_full_precision_weights(peer, imported_folder):
    """Rounding a float32 model to float16 would change its logits by thousandths."""
    theirs, ours = peer.model.state_dict(), load_file(imported_folder / "model.safetensors")
    assert torch.equal(ours["encoder_layers.0.feed_forward.expand.weight"], theirs["model.encoder.layers.0.fc1.weight"])


def test_import_keeps_half_precision_weights(make_peer, tmp_path, run_main):
    peer = make_peer(dtype=torch.float16)
    assert run_main(main, "import", peer.folder, "--output", tmp_path / "half").returncode == 0
    assert {weight.dtype for weight in load_file(tmp_path / "half" / "model.safetensors").values()} == {torch.float16}


def test_model_with_sharded_weights_translates_after_import(peer, tmp_path, run_main):
    folder = shutil.copytree(peer.folder, tmp_path / "sharded")
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(weights)
    places = {name: f"model-0000{1 + (at % 2)}-of-00002.safetensors" for at, name in enumerate(names)}
    for shard in set(places.values()):
        save_file({name: weights[name] for name in names if places[name] == shard}, folder / shard)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    assert run_main(main, "import", folder, "--output", tmp_path / "out").returncode == 0
    assert Translator.load(tmp_path / "out", "cpu").translate("The dog.").tokens


def test_pickled_weights_need_an_option_and_their_code_is_never_executed(peer, tmp_path, run_main):
    folder = shutil.copytree(peer.folder, tmp_path / "pickled")
    (folder / "model.safetensors").unlink()
    torch.save(
        peer.model.state_dict()
        | {
            f"model.{side}.embed_positions.weight": getattr(peer.model.model, side).embed_positions.weight
            for side in ("encoder", "decoder")
        },
        folder / "pytorch_model.bin",
    )
    refused(run_main(main, "import", folder, "--output", tmp_path / "no"), "--allow-pickle-weights")
    done = run_main(main, "import", folder, "--output", tmp_path / "yes", "--allow-pickle-weights")
    assert done.returncode == 0
    assert load_file(tmp_path / "yes" / "model.safetensors")

    class Evil:
        def __reduce__(self):
            return (open, (str(tmp_path / "executed"), "w"))

    torch.save({"lm_head.weight": Evil()}, folder / "pytorch_model.bin")
    refused(
        run_main(main, "import", folder, "--output", tmp_path / "evil", "--allow-pickle-weights"),
        "contains more than weights",
    )
    assert not (tmp_path / "executed").exists()


def refused(done, *said):
    assert done.returncode == 1 and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1, done.stderr
    for words in said:
        assert words in done.stderr


def settings(**changes):
    def change(folder):
        path = folder / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return change


def searching(**changes):
    def change(folder):
        path = folder / "generation_config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return change


def without(name):
    return lambda folder: (folder / name).unlink()


def content(name, data):
    return lambda folder: (folder / name).write_bytes(data)


def half(name):
    def cut(folder):
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[: len(whole) // 2])

    return cut


def weights(change):
    def changed(folder):
        tensors = load_file(folder / "model.safetensors")
        change(tensors)
        save_file(tensors, folder / "model.safetensors")

    return changed


def linked(folder):
    (folder.parent / "secret").write_text("{}")
    (folder / "vocab.json").unlink()
    (folder / "vocab.json").symlink_to(folder.parent / "secret")


DAMAGE = {
    "t5": (settings(model_type="t5"), "a model of type t5: only Marian"),
    "no family": (settings(model_type=None), "without model_type in config.json"),
    "ours": (content("config.json", b'{"source_vocabulary": 3}'), "already an Attention Atlas model folder"),
    "no config": (without("config.json"), "config.json is missing"),
    "no weights": (without("model.safetensors"), "model.safetensors is missing"),
    "half the weights": (half("model.safetensors"), "damaged or incomplete"),
    "empty config": (content("config.json", b""), "config.json is empty"),
    "pointer": (content("model.safetensors", b"version https://git-lfs.github.com/spec/v1\n"), "git lfs pull"),
    "link": (linked, "secret, which is not a file in"),
    "giant": (settings(d_model=10**9), "d_model in config.json must be a whole number from 1 to 8,192"),
    "fraction": (settings(encoder_layers=2.5), "encoder_layers in config.json must be a whole number"),
    "no layers": (settings(encoder_layers=None), "has no encoder_layers"),
    "odd heads": (
        settings(encoder_attention_heads=2),
        "an encoder layer has 2 attention heads and a decoder layer 4, but",
    ),
    "odd widths": (
        settings(decoder_ffn_dim=48),
        "an encoder layer has 24 feed-forward units and a decoder layer 48, but",
    ),
    "activation": (
        settings(activation_function="mish"),
        "the activation 'mish' is not supported; the supported ones are: gelu_new, ",
    ),
    "a start that is a text": (
        searching(decoder_start_token_id="7"),
        "decoder_start_token_id in generation_config.json must be a whole number",
    ),
    "a start below 0": (searching(decoder_start_token_id=-1), "from 0 to 95, not -1"),
    "an end that is no number": (searching(eos_token_id=[0, None]), "eos_token_id in generation_config.json must be"),
    "an end that is not the tokenizer's": (
        searching(eos_token_id=7),
        "eos_token_id is 7, but the tokenizer ends a text with </s>, which has the id 0",
    ),
    "text for a flag": (settings(scale_embedding="yes"), "scale_embedding in config.json must be true or false"),
    "more tokens": (settings(vocab_size=5), "tokens, but config.json says 5; if tokens were added, resize"),
    "padding outside": (settings(pad_token_id=10**6), "pad_token_id in config.json must be a whole"),
    "another width": (settings(d_model=32), "should have shape"),
    "more layers": (settings(decoder_layers=3), "the tensor model.decoder.layers.2"),
    "fewer layers": (settings(decoder_layers=1), "which no MarianMTModel with the settings"),
    "stranger": (weights(lambda tensors: tensors.update(x=torch.ones(1))), "the tensor x, which no MarianMTModel"),
    "not a number": (
        weights(lambda tensors: tensors["final_logits_bias"].fill_(torch.nan)),
        "final_logits_bias",
        "not finite",
    ),
    "integers": (
        weights(lambda tensors: tensors.update(final_logits_bias=torch.ones(1, 3, dtype=torch.int8))),
        "must have a float type",
    ),
    "bias of another size": (
        weights(lambda tensors: tensors.update(final_logits_bias=torch.ones(1, 3))),
        "generator.bias should have",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_unreadable_folder_gives_a_one_line_error(name, peer, tmp_path, run_main):
    damage, *said = DAMAGE[name]
    folder = shutil.copytree(peer.folder, tmp_path / "theirs")
    damage(folder)
    refused(run_main(main, "import", folder, "--output", tmp_path / "ours"), *said)
    assert not (tmp_path / "ours").exists()


def test_weight_files_outside_the_folder_are_not_opened(peer, tmp_path, run_main):
    folder = shutil.copytree(peer.folder, tmp_path / "theirs")
    (folder / "model.safetensors").rename(tmp_path / "outside.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "../outside.safetensors"}}))
    refused(run_main(main, "import", folder, "--output", tmp_path / "ours"), "lists no valid weight files")


def test_import_never_overwrites_a_folder(peer, tmp_path, run_main):
    (tmp_path / "kept").write_text("mine")
    refused(run_main(main, "import", peer.folder, "--output", tmp_path), "already exists")
    assert (tmp_path / "kept").read_text() == "mine"


@pytest.mark.parametrize("output", [".", "x/..", "link"])
def test_existing_empty_folder_can_be_the_output_folder(output, peer, tmp_path, run_main, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    (tmp_path / "link").symlink_to(here)
    monkeypatch.chdir(tmp_path if output == "link" else here)
    assert run_main(main, "import", peer.folder, "--output", output).returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "link"]
    # The import fills the folder in place. If it replaced the folder, a process with this working directory would see
    # an empty folder.
    assert Translator.load(Path.cwd() if output != "link" else here, "cpu").languages.source.code == "en"
    again = run_main(main, "import", peer.folder, "--output", output)
    refused(again, f"{output} already exists")


def test_import_and_export_reject_a_bad_output_folder_before_reading_the_model(tmp_path, run_main):
    (tmp_path / "file").touch()
    for command in ("import", "no/such"), ("export", "--format", "huggingface", "--model", "no/such"):
        refused(run_main(main, *command, "--output", tmp_path / "file" / "x"), "x could not be written (Not a dir")


def test_import_that_fills_the_disk_leaves_no_files_behind(peer, tmp_path, run_main):
    (tmp_path / "empty").mkdir()
    for output in "empty", "new":
        with full_disk(50_000):
            refused(run_main(main, "import", peer.folder, "--output", tmp_path / output), "could not be written")
    assert list(tmp_path.rglob("*")) == [tmp_path / "empty"]


def test_invalid_model_argument_gives_a_one_line_error(peer, tmp_path, run_main):
    refused(run_main(main, "import", tmp_path / "nowhere", "--output", tmp_path / "x"), "is neither a folder nor")
    refused(run_main(main, "import", peer.folder / "config.json", "--output", tmp_path / "x"), "is a file")
    done = run_main(main, "import", peer.folder, "--revision", "main", "--output", tmp_path / "x")
    refused(done, "leave out --revision")


def test_model_is_downloaded_at_the_requested_revision(peer, tmp_path, run_main, monkeypatch):
    """The test imitates the cache of huggingface_hub, where the files of a snapshot are symbolic links to blobs."""
    asked = {}
    snapshot, blobs = tmp_path / "models--x" / "snapshots" / "abc123", tmp_path / "models--x" / "blobs"
    shutil.copytree(peer.folder, blobs)
    snapshot.mkdir(parents=True)
    for path in blobs.iterdir():
        (snapshot / path.name).symlink_to(path)

    def download(name, **options):
        asked.update(name=name, **options)
        return str(snapshot)

    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(snapshot_download=download))
    done = run_main(main, "import", "Some-One/opus-mt-en-ar", "--revision", "v1", "--output", tmp_path / "out")
    assert done.returncode == 0 and "revision abc123" in done.stdout
    assert asked["name"] == "Some-One/opus-mt-en-ar" and asked["revision"] == "v1"
    assert set(asked["allow_patterns"]) == set(hub.FILE_PATTERNS) and "pytorch_model.bin" not in hub.FILE_PATTERNS
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "Some-One/opus-mt-en-ar, revision abc123" in card


def test_download_failure_gives_a_one_line_error(tmp_path, run_main, monkeypatch):
    def download(name, **options):
        raise RuntimeError("Repository Not Found\n\nmore of it")

    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(snapshot_download=download))
    refused(
        run_main(main, "import", "no/such", "--output", tmp_path / "x"), "cannot be downloaded: Repository Not Found"
    )


def said_languages(folder):
    return tuple(json.loads((folder / "languages.json").read_text(encoding="utf-8")).values())


def test_missing_languages_can_be_given_on_the_command_line(peer, tmp_path, run_main):
    folder = shutil.copytree(peer.folder, tmp_path / "fine-tuned")
    (folder / "tokenizer_config.json").write_text("{}")
    done = run_main(main, "import", folder, "--output", tmp_path / "none")
    assert done.returncode == 0 and "--source and --target" in done.stdout
    assert said_languages(tmp_path / "none") == ("source", "target")
    done = run_main(main, "import", folder, "--output", tmp_path / "both", "--source", "en", "--target", "ar")
    assert "English to Arabic" in done.stdout and said_languages(tmp_path / "both") == ("en", "ar")
    done = run_main(main, "import", peer.folder, "--output", tmp_path / "one", "--target", "pt_BR")
    assert "English to Portuguese" in done.stdout and said_languages(tmp_path / "one") == ("en", "pt_BR")


@pytest.mark.parametrize(
    ("code", "said"), [("<b>", "not a language code"), ("", "not a language code"), ("French", "use its code, fr")]
)
def test_invalid_language_code_gives_a_one_line_error(code, said, peer, tmp_path, run_main):
    refused(run_main(main, "import", peer.folder, "--output", tmp_path / "x", "--target", code), said)
    assert not (tmp_path / "x").exists()


def test_translate_command_accepts_only_languages_that_the_model_writes(tmp_path, run_main):
    several = arabic_model(tmp_path / "several", codes=(">>ara<<", ">>heb<<"))
    ask = ("translate", "The dog.", "--json", "--device", "cpu", "--model")
    for code in ("heb", ">>heb<<"):
        trace = Trace.from_json(run_main(main, *ask, several, "--language", code).stdout)
        assert trace.source_text == ">>heb<< The dog." and trace.source_tokens[0].role == "language"
    refused(run_main(main, *ask, several, "--language", "fra"), "does not translate into fra, only into ara, heb")
    one = arabic_model(tmp_path / "one")
    refused(run_main(main, *ask, one, "--language", "fra"), "only into Arabic")
    refused(run_main(main, *ask, one, "--language", "ara"), "writes only Arabic and accepts no language code")
    for model, code in ((several, "xyz"), (one, "xyz"), (one, "ara")):
        ended = run_main(main, "translate", f">>{code}<< The dog.", "--device", "cpu", "--model", model)
        asked = run_main(main, *ask, model, "--language", code)
        assert ended.stderr == asked.stderr and code in ended.stderr and ended.returncode == 1
    twice = (">>ara<< >>heb<< The dog.", "names two languages, >>ara<< and >>heb<<")
    refused(run_main(main, "translate", twice[0], "--device", "cpu", "--model", several), twice[1])
    typed = ("translate", ">>ara<< The dog.", "--device", "cpu", "--model", several)
    refused(run_main(main, *typed, "--language", "heb"), "leave out one of them")
