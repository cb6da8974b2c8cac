import unicodedata

import numpy as np
import pytest
import sentencepiece
import torch

from tests.conftest import SENTENCES
from tests.foreign_models import sentencepiece_model
from tests.unit.interop.conftest import Peer
from tests.unit.interop.family_peers import FAMILIES, make_family
from tests.unit.interop.test_marian import check_parity
from transformer.analysis.words import word_groups
from transformer.checkpoints.huggingface_files import HuggingFaceFolder
from transformer.files.paths import ASSETS
from transformer.interop.families import FAMILIES as TABLE
from transformer.interop.importer import import_model
from transformer.interop.vocabularies import read_vocabulary
from transformer.measurements.matching import second_trace
from transformer.running.translator import Translator
from transformer.values.decoding_settings import DecodingSettings

# Use only the first four words of each sentence, because the small models have few positions.
MANY = [" ".join(line.split()[:4]) for line in (ASSETS / "sentences.txt").read_text("utf-8").splitlines()]


@pytest.fixture(scope="module", params=FAMILIES)
def family(request, tmp_path_factory):
    """Return the family name, the Hugging Face model and tokenizer, and the imported translator."""
    theirs, ours = (tmp_path_factory.mktemp(name) for name in ("theirs", "ours"))
    model, tokenizer = make_family(request.param, theirs)
    import_model(str(theirs), ours / "model")
    return request.param, Peer(model, theirs), tokenizer, Translator.load(ours / "model", "cpu")


def test_imported_family_matches_hugging_face_logits_and_attention(family):
    _, peer, _, translator = family
    check_parity(peer, translator.folder)


def test_second_model_of_a_comparison_reads_the_tokens_of_the_first_model(family):
    """Earlier, a second model with several source languages encoded every text as if it were in the first of them."""
    *_, translator = family
    trace = translator.trace(MANY[0])
    found = second_trace(translator, translator, translator, trace)
    assert [token.id for token in found.source_tokens] == [token.id for token in trace.source_tokens]
    assert np.array_equal(found.cross, trace.cross)


@torch.inference_mode()
def written(peer, tokenizer, text, **settings):
    source = tokenizer(text, return_tensors="pt", split_special_tokens=True)["input_ids"]
    return peer.model.generate(source, do_sample=False, **settings)[0, 1:].tolist()


@pytest.mark.parametrize(
    ("beam", "count"), [(4, 4), *(pytest.param(beam, 200, marks=pytest.mark.thorough) for beam in (1, 4))]
)
def test_translations_match_hugging_face_generate(family, beam, count):
    _, peer, tokenizer, translator = family
    settings = DecodingSettings("beam", beam_size=beam, length_penalty=1.0) if beam > 1 else DecodingSettings()
    for text in MANY[:count]:
        ours = [token.id for token in translator.translate(text, settings).tokens]
        assert ours == written(peer, tokenizer, text, num_beams=beam), text


@pytest.mark.parametrize("count", [50, pytest.param(1000, marks=pytest.mark.thorough)])
def test_tokens_match_hugging_face_tokenizers(family, texts, count):
    """A special token in typed text is plain text to our tokenizers, but stays special in `transformers`."""
    name, _, tokenizer, translator = family
    symbols, unknown = set(tokenizer.all_special_ids), translator.tokenizer.symbols.unknown
    for text in texts[:count]:
        ours = translator.tokenizer.encode_source(text)
        theirs = tokenizer(text, split_special_tokens=True)["input_ids"]
        assert [token.id for token in ours] == [
            unknown if number in symbols and token.span is not None and token.id != number else number
            for token, number in zip(ours, theirs, strict=True)
        ], (name, text)


@pytest.mark.parametrize("count", [50, pytest.param(1000, marks=pytest.mark.thorough)])
def test_span_of_a_token_covers_its_text(family, texts, count):
    name, _, _, translator = family
    for text in texts[:count]:
        tokens = translator.tokenizer.encode_source(text)
        for token in tokens:
            if token.span is None or token.role or name == "bart":
                continue
            # Normalisation may turn one character into several, and a token may contain only some of them.
            covered, said = normal(text[slice(*token.span)]), normal(token.text.replace("▁", ""))
            assert said in covered if len(said) < len(covered) else covered == said, (text, token)
        for group in word_groups(tokens, text):
            spans = [tokens[at].span for at in group if tokens[at].span]
            assert " " not in text[spans[0][0] : spans[-1][1]].strip() if spans else True, (text, group)


def normal(text):
    return unicodedata.normalize("NFKC", text).strip().replace("▁", "")


@pytest.mark.parametrize(
    ("family", "rows", "languages", "first", "count"),
    [
        ("m2m_100", 203, ("eng_Latn", "deu_Latn"), "ace_Arab", 202),
        ("mbart", 53, ("en_XX", "sl_SI"), "ar_AR", 52),
        ("mbart", 26, ("en_XX", "de_DE"), "ar_AR", 25),
    ],
)
def test_languages_are_known_without_a_tokenizer_config(tmp_path, family, rows, languages, first, count):
    model = sentencepiece_model(SENTENCES)
    (tmp_path / "sentencepiece.bpe.model").write_bytes(model)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    # In fairseq, the id of a token is its sentencepiece id plus one, and the language codes come last.
    size = processor.get_piece_size() + 1
    rows += size
    settings = {"pad_token_id": 1, "eos_token_id": 2, "unk_token_id": 3, "decoder_start_token_id": 2}
    tokenizer, _, named = read_vocabulary(
        HuggingFaceFolder(tmp_path), TABLE[family], settings, {}, (rows, rows), languages, notes := []
    )
    assert (len(tokenizer.codes) // 2, named.source.code, notes) == (count, languages[0], [])
    assert tokenizer.begin(f"<<{first}>> >>{first}<< a") == (size,)
    text = "The old man has seen it."
    spelt = [token.id for token in tokenizer.encode(text, end=False)]
    assert spelt == [3 if number == 0 else number + 1 for number in processor.encode(text)]


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
def test_translations_that_use_imported_generation_settings_match_hugging_face(beam, tmp_path):
    of_beams = {"num_beams": 4, "early_stopping": True} if beam > 1 else {}
    model, tokenizer = make_family("pegasus", tmp_path, ending=0.5, **RULES, **of_beams)
    import_model(str(tmp_path), tmp_path / "model")
    translator = Translator.load(tmp_path / "model", "cpu")
    settings = DecodingSettings("beam", beam_size=beam, length_penalty=0.8) if beam > 1 else DecodingSettings()
    for text in SENTENCES[:6]:
        ours = [token.id for token in translator.translate(text, settings).tokens]
        assert ours == written(
            Peer(model, tmp_path), tokenizer, text, num_beams=beam, **({"length_penalty": 0.8} if beam > 1 else {})
        ), text
