"""Compares token ids, logits and attention with `transformers`, on GPT-2 folders that `transformers` wrote."""

import json
import random
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from tests.conftest import SENTENCES
from tests.unit.language_modelling.conftest import END_OF_TEXT, random_weights
from transformer.checkpoints.checkpoint import load_language_model
from transformer.errors import CheckpointError
from transformer.model.recorder import Recorder

TYPED = [
    "hello there",
    " ABC",
    "ABC",
    "xABCx",
    "ABCD",
    "<tab>",
    " \n <tab>\t x",
    "<right>",
    "<right>  \n y",
    "Größe",
    "é",
    "🙂",
    "ab",
    "abab",
    "aba",
    "it's",
    "  two  spaces ",
    "\n\n",
    "",
    "<|pad|",
    "2024",
    "the dog",
    "A",
    "\u3000<tab>",
]
ADDED = [
    "hello there",
    AddedToken("ABC", single_word=True),
    AddedToken("<tab>", lstrip=True),
    AddedToken("<right>", rstrip=True),
    AddedToken("ab", normalized=False),
    AddedToken("aba", normalized=True),
    "Größe\n",
]


@pytest.fixture
def plain_tokenizer(gpt2_folder):
    from transformers import GPT2Tokenizer

    return GPT2Tokenizer.from_pretrained(gpt2_folder)


def spaced(tokenizer):
    """Return a copy of the tokenizer that adds a space before every text."""
    return type(tokenizer).from_pretrained(tokenizer.name_or_path, add_prefix_space=True)


def trained(**options):
    """Return a tokenizer trained in the same way as the GPT-2 tokenizer in Hugging Face's course."""
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=[END_OF_TEXT, "<s>"], show_progress=False)
    tokenizer.train_from_iterator(SENTENCES, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **options)


def written(folder, tokenizer, *, rows=None, multiple=None, dtype=None, shard="5GB", change=None, **settings):
    """Write a random GPT-2 and its tokenizer with `transformers`, and return both as `transformers` reads them.

    Args:
        folder, tokenizer: the output folder and the tokenizer.
        rows: rows of the embedding before resizing; None for one per token of the tokenizer.
        multiple: resize the embedding to the number of tokens, rounded up to a multiple of this.
        dtype: data type of the weights.
        shard: maximum size of a weight file.
        change: function that edits the folder before it is read.
        settings: fields of GPT2Config.
    """
    from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

    sizes = {"n_positions": 64, "n_embd": 24, "n_layer": 3, "n_head": 4, "bos_token_id": 0, "eos_token_id": 0}
    model = GPT2LMHeadModel(GPT2Config(vocab_size=rows or len(tokenizer), **{**sizes, **settings}))
    if multiple:
        model.resize_token_embeddings(len(tokenizer), pad_to_multiple_of=multiple, mean_resizing=False)
    random_weights(model).to(dtype or torch.float32).save_pretrained(folder, max_shard_size=shard)
    tokenizer.save_pretrained(folder)
    if change:
        change(folder)
    read = GPT2LMHeadModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32)
    return read.eval(), AutoTokenizer.from_pretrained(folder)


def with_added(tokenizer):
    tokenizer.add_special_tokens({"pad_token": "<|pad|>"})
    tokenizer.add_tokens(ADDED)
    return tokenizer


def edited(name, **values):
    def change(folder):
        path = folder / name
        path.write_text(json.dumps(json.loads(path.read_text()) | values))

    return change


def output_of_its_own(folder):
    weights = load_file(folder / "model.safetensors")
    generator = torch.Generator().manual_seed(1)
    weights["lm_head.weight"] = torch.randn(weights["transformer.wte.weight"].shape, generator=generator)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def two_files(described):
    """Return a function that converts a folder to the format of transformers 4, which lists added tokens separately."""

    def change(folder):
        document = json.loads((folder / "tokenizer.json").read_text())
        (folder / "tokenizer.json").unlink()
        (folder / "vocab.json").write_text(json.dumps(document["model"]["vocab"]))
        merges = "".join(f"{first} {second}\n" for first, second in document["model"]["merges"])
        (folder / "merges.txt").write_text("#version: 0.2\n" + merges)
        added = {each["content"]: each.pop("id") for each in document["added_tokens"]}
        if described:
            each_by_id = {str(added[each["content"]]): each for each in document["added_tokens"]}
            edited("tokenizer_config.json", added_tokens_decoder=each_by_id)(folder)
        else:
            (folder / "added_tokens.json").write_text(json.dumps(added))

    return change


FOLDERS = {
    "one file": (lambda plain: plain, {}),
    "several files of weights": (lambda plain: plain, {"shard": "30KB"}),
    "rows filled up": (lambda plain: plain, {"multiple": 64}),
    "added tokens, rows filled up, several files": (with_added, {"rows": 420, "multiple": 64, "shard": "30KB"}),
    "added tokens without rows": (with_added, {"rows": 420}),
    "an untied output": (lambda plain: plain, {"tie_word_embeddings": False}),
    "an untied output, rows filled up": (with_added, {"tie_word_embeddings": False, "multiple": 64}),
    "an output of its own": (lambda plain: plain, {"change": output_of_its_own}),
    "no symbols": (lambda plain: plain, {"bos_token_id": None, "eos_token_id": None}),
    "symbols of another vocabulary": (lambda plain: plain, {"bos_token_id": 50256, "eos_token_id": 50256}),
    "a space before every text": (lambda plain: with_added(spaced(plain)), {"multiple": 64}),
    "several ends": (with_added, {"eos_token_id": [0, 420]}),
    "an end that is a letter": (lambda plain: plain, {"eos_token_id": 7}),
    "scores over layers": (lambda plain: plain, {"scale_attn_by_inverse_layer_idx": True}),
    "raw scores": (lambda plain: plain, {"scale_attn_weights": False}),
    "half precision": (lambda plain: plain, {"dtype": torch.float16}),
    "bfloat16": (lambda plain: plain, {"dtype": torch.bfloat16}),
    "double precision": (lambda plain: plain, {"dtype": torch.float64}),
    "another activation": (lambda plain: plain, {"activation_function": "relu", "n_inner": 20}),
    "not every byte": (lambda plain: trained(bos_token="<s>", eos_token=END_OF_TEXT), {}),
    "a symbol that only the tokenizer names": (
        lambda plain: trained(bos_token="<s>"),
        {"bos_token_id": None, "eos_token_id": None},
    ),
    "two files, described": (with_added, {"change": two_files(described=True)}),
    "two files, listed": (with_added, {"change": two_files(described=False)}),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_token_ids_logits_and_attention_match_transformers(name, plain_tokenizer, tmp_path):
    make, options = FOLDERS[name]
    theirs, their_tokenizer = written(tmp_path, make(plain_tokenizer), **options)
    loaded = load_language_model(tmp_path, "cpu")
    draw = random.Random(4)
    for number in range(60):
        text = TYPED[number] if number < len(TYPED) else "".join(draw.choices(TYPED, k=4))
        ids = [token.id for token in loaded.tokenizer.encode(text, end=False)]
        expected = their_tokenizer(text, split_special_tokens=True)["input_ids"]
        # An added token without an embedding row breaks the model in `transformers`, whereas our tokenizer encodes it
        # as other tokens.
        if max(expected, default=0) < theirs.config.vocab_size:
            assert ids == expected, text
        assert loaded.tokenizer.decode(ids) == their_tokenizer.decode(ids, clean_up_tokenization_spaces=False)
    size, symbols = loaded.tokenizer.size, loaded.tokenizer.symbols
    assert loaded.tokenizer.texts[symbols.end] in (END_OF_TEXT, "<s>")
    tokens = torch.tensor([[symbols.start, *(draw.randrange(size) for _ in range(20))]])
    record = Recorder(details=False)
    with torch.inference_mode():
        out = theirs(tokens, output_attentions=True)
        logits = loaded.model(None, tokens, record=record)
    torch.testing.assert_close(logits, out.logits[..., :size], atol=2e-5, rtol=1e-5)
    for ours, attention in zip(record.tensors["decoder.weights"], out.attentions, strict=True):
        torch.testing.assert_close(ours, attention, atol=1e-5, rtol=0)
    # Embedding rows beyond the vocabulary stand for no token, so they have no logit and no probability.
    assert logits.shape[-1] == min(len(their_tokenizer), theirs.config.vocab_size)


def tokenizer_file(**values):
    return edited("tokenizer.json", **values)


def model_of(**values):
    def change(folder):
        model = json.loads((folder / "tokenizer.json").read_text())["model"]
        tokenizer_file(model=model | values)(folder)

    return change


def index_of(places):
    def change(folder):
        (folder / "model.safetensors").unlink()
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))

    return change


def pickled(folder):
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def without_tokenizer(folder):
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()


def without_symbols(folder):
    edited("config.json", bos_token_id=None, eos_token_id=None)(folder)
    edited("generation_config.json", bos_token_id=None, eos_token_id=None)(folder)
    document = json.loads((folder / "tokenizer.json").read_text())
    document["added_tokens"] = []
    document["model"]["vocab"]["of"] = document["model"]["vocab"].pop(END_OF_TEXT)
    (folder / "tokenizer.json").write_text(json.dumps(document))


UNREADABLE = {
    "no tokenizer": (without_tokenizer, "no tokenizer was found; save tokenizer.json, or vocab.json"),
    "a damaged tokenizer": (
        lambda folder: (folder / "tokenizer.json").write_text("{"),
        "tokenizer.json is not a JSON file",
    ),
    "another tokenizer": (model_of(type="WordPiece"), "a model of type 'WordPiece', but only byte-level BPE"),
    "another pattern": (
        tokenizer_file(pre_tokenizer={"type": "Metaspace"}),
        "the pre_tokenizer in tokenizer.json is not GPT-2's",
    ),
    "a normalizer": (tokenizer_file(normalizer={"type": "NFC"}), "tokenizer.json has a normalizer"),
    "suffixes": (model_of(end_of_word_suffix="</w>"), "end_of_word_suffix in tokenizer.json is '</w>'"),
    "a merge of three": (
        model_of(merges=[["a", "b", "c"]]),
        "merge 1 in tokenizer.json does not consist of two tokens",
    ),
    "a merge of nothing": (model_of(merges=["q qqq"]), "merge 1 in tokenizer.json needs the token 'qqq'"),
    "ids that are none": (model_of(vocab={"a": "0"}), "vocab in tokenizer.json is not a JSON object with an id"),
    "ids with a gap": (model_of(vocab={"a": 5}, merges=[]), "must give its 2 tokens the ids 0 to 1"),
    "an added token without a number": (
        tokenizer_file(added_tokens=[{"content": "x"}]),
        "tokenizer.json has an invalid added token (id None)",
    ),
    "no symbol": (without_symbols, "the start symbol is unknown"),
    "a pickle": (pickled, "available only as a pickle (pytorch_model.bin), which may contain code: load"),
    "weight files of other names": (index_of({"a": "../x.safetensors"}), "lists no valid weight files"),
    "weight files that are no names": (index_of({"a": ["x"], "b": 3}), "lists no valid weight files"),
    "a weight file that is missing": (
        index_of({"a": "model-00001-of-00001.safetensors"}),
        "model-00001-of-00001.safetensors is missing",
    ),
    "an untied output that is missing": (
        edited("config.json", tie_word_embeddings=False),
        "the tensor lm_head.weight is missing from the weights, and config.json does not tie it",
    ),
}


@pytest.fixture(scope="module")
def written_folder(gpt2_folder, tmp_path_factory):
    from transformers import GPT2Tokenizer

    folder = tmp_path_factory.mktemp("written")
    written(folder, GPT2Tokenizer.from_pretrained(gpt2_folder))
    return folder


@pytest.mark.parametrize("wrong", UNREADABLE)
def test_unreadable_gpt2_folder_gives_a_one_line_error_with_the_reason(wrong, written_folder, tmp_path):
    change, message = UNREADABLE[wrong]
    folder = shutil.copytree(written_folder, tmp_path / "copy")
    change(folder)
    with pytest.raises(CheckpointError) as error:
        load_language_model(folder, "cpu")
    assert message in str(error.value)
    assert "\n" not in str(error.value) and "--" not in str(error.value)


def test_tokenizer_path_that_is_a_folder_raises_an_error(written_folder, tmp_path):
    folder = shutil.copytree(written_folder, tmp_path / "copy")
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer.json").mkdir()
    with pytest.raises(CheckpointError, match=r"tokenizer\.json points to .*, which is not a file in .*copy"):
        load_language_model(folder, "cpu")


def test_model_version_changes_with_any_weight_file(plain_tokenizer, tmp_path):
    written(tmp_path, plain_tokenizer, shard="30KB")
    before = load_language_model(tmp_path, "cpu").version
    last = max(tmp_path.glob("model-*.safetensors"))
    save_file({name: weight + 1 for name, weight in load_file(last).items()}, last, {"format": "pt"})
    assert load_language_model(tmp_path, "cpu").version != before
