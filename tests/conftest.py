"""Settings and small models that the tests share."""

import gc
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from tests.small_models import small
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.checkpoints.model_files import save_model
from transformer.config import TransformerConfig, decoder_only
from transformer.files.paths import MODEL
from transformer.model.transformer import Transformer, build
from transformer.running.translator import Translator
from transformer.text.tokenizer import VOCABULARY, Tokenizer, train_tokenizer
from transformer.values.trace import Trace

pytest_plugins = ["tests.share"]

# The arrays in the tests are tiny, so a second thread costs more than it saves. Child processes, such as pytest's
# workers, read OMP_NUM_THREADS when they load numpy and torch.
torch.set_num_threads(1)
os.environ["OMP_NUM_THREADS"] = "1"

# Imported modules and collected tests live until the process ends, so garbage collection would only cost seconds.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


SENTENCES = [
    "The old man reads a book in the garden.",
    "Der alte Mann liest ein Buch im Garten.",
    "I have a dream.",
    "Ich habe einen Traum.",
    "She gave the book to her brother yesterday.",
    "Sie gab das Buch gestern ihrem Bruder.",
    "The children play with the dog.",
    "Die Kinder spielen mit dem Hund.",
    "Where did you learn to speak German so well?",
    "Wo hast du so gut Deutsch sprechen gelernt?",
    "It was too tired to cross the street.",
    "Es war zu müde, um die Straße zu überqueren.",
]


@dataclass(frozen=True)
class Ended:
    """Result of a command run in this process; fields are named as in `subprocess.CompletedProcess`."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run_main(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Return a function run_main(main, *arguments) that runs a command in this process, where torch is already
    loaded.
    """

    def run(main: Callable[[Sequence[str]], None], *arguments: object) -> Ended:
        message: object = None
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as ended:
            message = ended.code
        written = capsys.readouterr()
        if isinstance(message, str):
            # If SystemExit has a message, the interpreter prints it to stderr and exits with code 1.
            return Ended(1, written.out, f"{written.err}{message}\n")
        return Ended(int(message or 0), written.out, written.err)

    return run


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    """A tokenizer with a vocabulary of 400 tokens, 256 of which are single bytes."""
    return train_tokenizer(SENTENCES * 20, size=400)


@pytest.fixture(scope="session")
def small_config(tokenizer: Tokenizer) -> TransformerConfig:
    return small(tokenizer.size, 32, 4, 48, (2, 3), tied_embeddings="all")


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer, small_config) -> Path:
    """A model folder with random weights."""
    torch.manual_seed(11)
    folder = tmp_path_factory.mktemp("model")
    model = build(small_config)
    save_model(folder, small_config, dict(model.named_parameters()), tokenizer)
    (folder / "README.md").write_text("# A card", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def small_translator(model_folder: Path) -> Translator:
    return Translator.load(model_folder, "cpu")


@pytest.fixture(scope="session")
def shipped() -> Translator:
    """The shipped model, loaded once per test process."""
    return Translator.load(device="cpu")


# Maximum number of tokens that `tiny_language_model` can read; small, so that a short text exceeds it.
POSITIONS = 64


@pytest.fixture(scope="session")
def tiny_language_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a language model and return its folder; perturbed weights make attention and predictions non-uniform."""
    torch.manual_seed(4)
    tokenizer = Tokenizer.load(MODEL / VOCABULARY)
    config = decoder_only(vocabulary=tokenizer.size, d_model=32, heads=4, layers=3, d_ff=64, max_positions=POSITIONS)
    model = build(config)
    weights = {name: weight.detach() + 0.1 * torch.randn_like(weight) for name, weight in model.named_parameters()}
    folder = tmp_path_factory.mktemp("models") / "tiny"
    save_model(folder, config, weights, tokenizer)
    return folder


# Configurations that together cover every norm placement, activation and positional encoding, and every option of the
# embeddings and the output layer.
SHAPES = {
    "pre": {"positions": "sinusoidal", "tied_embeddings": "all"},
    "post": {
        "norm": "post",
        "positions": "sinusoidal_halves",
        "activation": "gelu",
        "tied_embeddings": "target",
        "output_bias": False,
    },
    "learned": {"positions": "learned", "activation": "silu", "scale_embedding": False},
    "none": {"norm": "post", "positions": "none", "activation": "gelu_tanh"},
    "alibi": {"positions": "alibi"},
    "rotary": {"positions": "rotary", "tied_embeddings": "target"},
    "embedding norm": {"embedding_norm": True, "positions": "sinusoidal_fairseq", "activation": "gelu"},
}


# "pre" and "post" differ in norm, positions, activation, weight tying and bias, so `pytest` runs only these two
# shapes. `pytest -m thorough` runs the other shapes.
EACH_SHAPE = [name if name in ("pre", "post") else pytest.param(name, marks=pytest.mark.thorough) for name in SHAPES]
# For tests that do not depend on whether the model is pre-norm or post-norm.
ONE_SHAPE = pytest.mark.parametrize("shaped_translator", ["post"], indirect=True)


def perturbed(model: Transformer) -> Transformer:
    """Perturb a new model's gains, biases and attention input projections. Initial gains of 1 and biases of 0 would
    hide errors.
    """
    model.eval().requires_grad_(False)
    for name, parameter in model.named_parameters():
        if parameter.ndim == 1:
            parameter += 0.3 * torch.randn_like(parameter)
        elif "in_projection" in name:
            parameter *= 2
    return model


def translator_of(shape: str, tokenizer: Tokenizer) -> Translator:
    """Return a translator with the configuration SHAPES[shape]."""
    torch.manual_seed(8)
    model = perturbed(build(small(tokenizer.size, 24, 3, 40, max_positions=64, **SHAPES[shape])))
    return Translator(Checkpoint(model, tokenizer), device="cpu", version=shape)


@pytest.fixture(scope="session", params=EACH_SHAPE)
def shaped_translator(request: pytest.FixtureRequest, tokenizer: Tokenizer) -> Translator:
    """A translator with a configuration from SHAPES."""
    return translator_of(request.param, tokenizer)


@pytest.fixture(scope="session")
def shaped_trace(shaped_translator: Translator) -> Trace:
    """A detailed trace of a given translation whose source has more tokens than a head has dimensions."""
    return shaped_translator.trace("The old man reads a book.", "Der alte Mann liest ein Buch.", details=True)


def copying_weights(config: TransformerConfig) -> dict[str, torch.Tensor]:
    """Return the weights of a one-layer, one-head model that copies its input and has known attention.

    The residual stream has one dimension per token and one per position. Each encoder row attends to the next position,
    and each decoder row to the previous one. In cross-attention, decoder row t attends to source position t, whose
    token the row predicts.
    """
    model = build(config)
    vocabulary, places = config.source_vocabulary, config.max_positions
    tokens, positions = slice(0, vocabulary), slice(vocabulary, vocabulary + places)
    weights = {name: torch.zeros_like(parameter) for name, parameter in model.named_parameters()}
    for name in weights:
        if name.endswith("norm.weight"):
            weights[name].fill_(1.0)
    weights["source_embedding.weight"][:, tokens] = torch.eye(vocabulary)
    for side in ("source", "target"):
        weights[f"{side}_positions.table"][:, positions] = torch.eye(places)

    def look(attention: str, offset: int) -> None:
        """Make the query at position i match the key at position i + offset."""
        projection = weights[f"{attention}.in_projection.weight"]
        query, key, value = projection.chunk(3)
        query[positions, positions] = torch.eye(places).roll(offset, dims=0)
        key[positions, positions] = torch.eye(places)
        value[tokens, tokens] = torch.eye(vocabulary)

    look("encoder_layers.0.self_attention", 1)
    look("decoder_layers.0.self_attention", -1)
    look("decoder_layers.0.cross_attention", 0)
    weights["decoder_layers.0.cross_attention.out_projection.weight"][tokens, tokens] = torch.eye(vocabulary)
    return weights


@pytest.fixture(scope="session")
def copying_translator(tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer) -> Translator:
    """A translator with the weights of `copying_weights`, so that its attention is known."""
    config = small(
        tokenizer.size,
        tokenizer.size + 32,
        1,
        4,
        (1, 1),
        positions="learned",
        max_positions=32,
        tied_embeddings="all",
        scale_embedding=False,
    )
    folder = tmp_path_factory.mktemp("copying")
    save_model(folder, config, copying_weights(config), tokenizer)
    return Translator.load(folder, "cpu")
