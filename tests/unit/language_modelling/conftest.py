import json

import pytest
import torch
from tokenizers import ByteLevelBPETokenizer

from tests.conftest import SENTENCES
from transformer.checkpoints.gpt2 import read_gpt2
from transformer.checkpoints.huggingface_files import HuggingFaceFolder
from transformer.text.tokenizer import train_tokenizer

END_OF_TEXT = "<|endoftext|>"


def random_weights(model):
    """Randomise the weights. Initially all biases are 0 and all norms have a gain of 1, which would hide errors."""
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3)
    return model.eval()


@pytest.fixture(scope="session")
def gpt2_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gpt2")
    tokenizer = ByteLevelBPETokenizer()
    # The texts include umlauts, digits and emoji, so that some merges join bytes of one character.
    texts = [*SENTENCES, "Größe 2024 🙂🙂 it's they'll"] * 3
    tokenizer.train_from_iterator(texts, vocab_size=420, special_tokens=[END_OF_TEXT], show_progress=False)
    tokenizer.save_model(str(folder))
    return folder


@pytest.fixture(scope="session")
def huggingface(gpt2_folder):
    from transformers import GPT2Config, GPT2LMHeadModel

    size = len(json.loads((gpt2_folder / "vocab.json").read_text()))
    config = GPT2Config(
        vocab_size=size,
        n_positions=64,
        n_embd=24,
        n_layer=3,
        n_head=4,
        bos_token_id=0,
        eos_token_id=0,
        attn_implementation="eager",
    )
    model = random_weights(GPT2LMHeadModel(config))
    model.save_pretrained(gpt2_folder)
    return model


@pytest.fixture(scope="session")
def imported(gpt2_folder, huggingface):
    return read_gpt2(HuggingFaceFolder(gpt2_folder))


@pytest.fixture(scope="session")
def model(imported):
    return imported.model


@pytest.fixture(scope="session")
def tokenizer(imported):
    return imported.tokenizer


@pytest.fixture(scope="session")
def sentencepiece_tokenizer():
    return train_tokenizer(SENTENCES * 20, size=400)
