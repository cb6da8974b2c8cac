"""Imported models of every family compute and write the same as those of Hugging Face."""

from __future__ import annotations

import pytest
import torch

from tests.conftest import SENTENCES
from tests.unit.interop.conftest import Peer
from tests.unit.interop.family_peers import FAMILIES, make_family
from tests.unit.interop.test_marian import check_parity
from transformer.files.paths import ASSETS
from transformer.interop.importing import import_model
from transformer.running.translator import Translator
from transformer.values.decoding_settings import DecodingSettings

# Beginnings of sentences, because the small models of transformers have few positions.
MANY = [" ".join(line.split()[:4]) for line in (ASSETS / "sentences.txt").read_text("utf-8").splitlines()]


@pytest.fixture(scope="module", params=FAMILIES)
def family(request, tmp_path_factory):
    """Return the name, the model and the tokenizer of transformers, and our translator."""
    theirs, ours = (tmp_path_factory.mktemp(name) for name in ("theirs", "ours"))
    model, tokenizer = make_family(request.param, theirs)
    import_model(str(theirs), ours / "model")
    return request.param, Peer(model, theirs), tokenizer, Translator.load(ours / "model", "cpu")


def test_logits_and_attention_are_the_same(family):
    _, peer, _, translator = family
    check_parity(peer, translator.folder)


@torch.inference_mode()
def written(peer, tokenizer, text, **settings):
    source = tokenizer(text, return_tensors="pt", split_special_tokens=True)["input_ids"]
    return peer.model.generate(source, do_sample=False, **settings)[0, 1:].tolist()


@pytest.mark.parametrize(
    ("beam", "count"), [(4, 4), *(pytest.param(beam, 200, marks=pytest.mark.thorough) for beam in (1, 4))]
)
def test_translations_equal_generate(family, beam, count):
    _, peer, tokenizer, translator = family
    settings = DecodingSettings("beam", beam_size=beam, length_penalty=1.0) if beam > 1 else DecodingSettings()
    for text in MANY[:count]:
        ours = [piece.id for piece in translator.translate(text, settings).pieces]
        assert ours == written(peer, tokenizer, text, num_beams=beam), text


RULES = {
    "repetition_penalty": 1.3,
    "no_repeat_ngram_size": 3,
    "min_length": 9,
    "bad_words_ids": [[120], [121, 122]],
    "begin_suppress_tokens": [110],
    "forced_eos_token_id": 1,
    "renormalize_logits": True,
}


@pytest.mark.parametrize("beam", [1, 4])
def test_generate_settings_are_applied(beam, tmp_path):
    of_beams = {"num_beams": 4, "early_stopping": True} if beam > 1 else {}
    model, tokenizer = make_family("pegasus", tmp_path, ending=0.5, **RULES, **of_beams)
    import_model(str(tmp_path), tmp_path / "model")
    translator = Translator.load(tmp_path / "model", "cpu")
    settings = DecodingSettings("beam", beam_size=beam, length_penalty=0.8) if beam > 1 else DecodingSettings()
    for text in SENTENCES[:6]:
        ours = [piece.id for piece in translator.translate(text, settings).pieces]
        assert ours == written(
            Peer(model, tmp_path), tokenizer, text, num_beams=beam, **({"length_penalty": 0.8} if beam > 1 else {})
        ), text
