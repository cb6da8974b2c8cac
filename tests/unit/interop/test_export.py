import json
import shutil

import pytest
import torch
from safetensors.torch import load_file

from tests.small_models import small
from tests.unit.interop.conftest import Peer
from tests.unit.interop.test_marian import check_parity
from transformer.checkpoints.model_files import save_model
from transformer.commands.translate import main
from transformer.interop.exporter import export_huggingface
from transformer.interop.importer import import_model
from transformer.model.transformer import build
from transformer.running.translator import Translator

STEPS = 12
PARAMS = "const params = "
SHAPES = {
    "as Marian": {"tied_embeddings": "all"},
    "target tied": {"tied_embeddings": "target", "activation": "gelu", "scale_embedding": False},
    "untied": {"tied_embeddings": "none", "activation": "silu", "output_bias": False},
    "gelu by tanh": {"activation": "gelu_tanh"},
    "interleaved positions": {"positions": "sinusoidal"},
    "learned positions": {"positions": "learned"},
    "no positions": {"positions": "none"},
}


def read_by_hugging_face(folder):
    from transformers import MarianMTModel

    model = MarianMTModel.from_pretrained(folder, attn_implementation="eager")
    return Peer(model.eval().requires_grad_(False), folder)


@pytest.mark.parametrize("name", SHAPES)
def test_exported_model_gives_the_same_results_in_hugging_face(name, tokenizer, marian_tokenizer, tmp_path, run_main):
    config = small(
        tokenizer.size,
        16,
        4,
        24,
        (2, 1),
        max_positions=64,
        **{"norm": "post", "positions": "sinusoidal_halves", **SHAPES[name]},
    )
    torch.manual_seed(2)
    model = build(config)
    weights = {
        name: parameter + 0.3 * torch.randn_like(parameter) if parameter.ndim == 1 else parameter
        for name, parameter in model.named_parameters()
    }
    save_model(tmp_path / "ours", config, weights, tokenizer)
    done = run_main(
        main, "export", "--format", "huggingface", "--model", tmp_path / "ours", "--output", tmp_path / "out"
    )
    assert done.returncode == 0
    peer = read_by_hugging_face(tmp_path / "out")
    check_parity(peer, tmp_path / "ours")
    theirs = marian_tokenizer(tmp_path / "out")
    text = "The old man reads a book."
    assert theirs(text)["input_ids"] == tokenizer.encode_ids(text)
    source = torch.tensor([theirs(text)["input_ids"]])
    translator = Translator.load(tmp_path / "ours", "cpu")
    # Our search never generates incomplete characters, but the search in `transformers` does, so suppress byte tokens
    # in both searches.
    bytes_alone = sorted(translator.tokenizer.spelling.parts)
    ours = [token.id for token in translator.translate(text, suppressed=frozenset(bytes_alone)).tokens]
    written = peer.model.generate(source, max_length=STEPS + 1, suppress_tokens=bytes_alone)
    assert written[0, 1:].tolist() == ours[:STEPS]


def test_exporting_an_imported_model_restores_the_original_weights(peer, imported_folder, tmp_path, run_main):
    done = run_main(main, "export", "--format", "huggingface", "--model", imported_folder, "--output", tmp_path / "out")
    assert done.returncode == 0
    again = read_by_hugging_face(tmp_path / "out").model.state_dict()
    pad = peer.model.config.pad_token_id
    for name, weight in peer.model.state_dict().items():
        if name == "final_logits_bias":
            weight = weight.clone()
            weight[..., pad] = -1e4
        assert torch.equal(weight, again[name]), name
    import_model(str(tmp_path / "out"), tmp_path / "again")
    one, two = (load_file(folder / "model.safetensors") for folder in (imported_folder, tmp_path / "again"))
    assert one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)
    for name in ("config.json", "vocab.json", "symbols.json", "source.spm", "target.spm", "languages.json"):
        assert (imported_folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_model_without_a_model_card_can_be_exported_and_imported(imported_folder, tmp_path):
    folder = shutil.copytree(imported_folder, tmp_path / "ours")
    (folder / "README.md").unlink()
    export_huggingface(folder, tmp_path / "out")
    assert not (tmp_path / "out" / "README.md").exists()
    # Earlier versions of the export wrote an empty README.md.
    (tmp_path / "out" / "README.md").touch()
    assert "licence: not stated" in import_model(str(tmp_path / "out"), tmp_path / "again")


def test_exporting_an_architecture_that_marian_lacks_gives_a_one_line_error(model_folder, tmp_path, run_main):
    done = run_main(main, "export", "--format", "huggingface", "--model", model_folder, "--output", tmp_path / "out")
    assert done.returncode == 1 and "pre-norm" in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


# BertViz does not close its own files.
@pytest.mark.filterwarnings("ignore:unclosed file", "ignore:Exception ignored in")
def test_bertviz_accepts_a_trace(imported):
    from bertviz import head_view, model_view

    trace = imported.trace("The old man.")
    for view in (model_view, head_view):
        page = view(**trace.to_bertviz(), html_action="return").data
        params, _ = json.JSONDecoder().raw_decode(page, page.index(PARAMS) + len(PARAMS))
        found = {each["name"]: each for each in params["attention"]}
        assert set(found) == {"Encoder", "Decoder", "Cross"}
        cross = torch.tensor(found["Cross"]["attn"])
        torch.testing.assert_close(cross, torch.tensor(trace.cross), atol=1e-6, rtol=0)
        assert len(found["Cross"]["left_text"]) == len(trace.target_tokens)
        assert len(found["Cross"]["right_text"]) == len(trace.source_tokens)


# Inseq does not close one of its files, and its dependencies emit deprecation warnings.
@pytest.mark.filterwarnings("ignore")
def test_inseq_accepts_a_trace(imported, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    pytest.importorskip("inseq", reason="in tests/requirements.txt")
    trace = imported.trace("The old man.")
    given = trace.to_inseq()
    assert [each.token for each in given.target[1:]] == [token.text for token in trace.predicted_tokens]
    assert [each.id for each in given.source] == [token.id for token in trace.source_tokens]
    mean = given.aggregate(normalize=False)
    torch.testing.assert_close(mean.source_attributions, torch.tensor(trace.cross.mean((0, 1)).T), atol=1e-6, rtol=0)
    seen = torch.tensor(trace.decoder.mean((0, 1)).T)
    torch.testing.assert_close(mean.target_attributions[:-1], seen, atol=1e-6, rtol=0)
    assert given.show(display=False, return_html=True)
