"""Times greedy decoding and beam search of size 4 in this project, Hugging Face and CTranslate2.

    pip install -r benchmarks/requirements.txt
    python benchmarks/decoding.py [--json FILE]

Run this benchmark on idle cores. The libraries take turns, each in a separate process: idle threads of torch and
CTranslate2 spin, so in a shared process, the threads of one library would occupy the cores that another library needs.
The model has the shipped model's size and random weights. Every library writes exactly the requested number of tokens,
and the time includes the encoder.
"""

import multiprocessing
import operator
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Any

import ctranslate2
import torch
import transformers
from ctranslate2.specs import TransformerSpec

# Make imports from the repository work when Python runs this file by path.
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import timing
from benchmarks.models import marian, random_model, shape, write
from benchmarks.timing import Figure, command_line, figure, show
from transformer.config import TransformerConfig
from transformer.decoding.constraints import Constraints
from transformer.decoding.greedy import greedy
from transformer.model.attention import MultiHeadAttention
from transformer.model.layers import DecoderLayer, EncoderLayer
from transformer.model.transformer import Transformer
from transformer.text.tokenizer import END

BEAM = 4
LENGTHS = (20, 60)
BATCHES = (1, 32)
# Pause before each library's turn, in seconds, during which the previous library's threads go to sleep.
PAUSE = 0.1
ENDLESS = Constraints(suppressed=frozenset({END}))
SPECIAL = ["<pad>", "<unk>", "<s>", "</s>"]
# A library's search function: (sources [B, S], beam size, number of tokens) -> token ids.
Search = Callable[[torch.Tensor, int, int], list[list[int]]]


def hugging_face(config: TransformerConfig) -> Search:
    """Return the search function of a MarianMT model with the sizes in `config`."""
    model = marian(config)

    def search(sources: torch.Tensor, size: int, length: int) -> list[list[int]]:
        with torch.inference_mode():
            found = model.generate(
                sources,
                attention_mask=torch.ones_like(sources),
                num_beams=size,
                do_sample=False,
                min_new_tokens=length,
                max_new_tokens=length,
            )
        return found[:, 1:].tolist()

    return search


def ctranslate(model: Transformer) -> Search:
    """Return a search function that runs the model in CTranslate2, in float32, with as many threads as torch uses."""
    with tempfile.TemporaryDirectory() as folder:
        converted(model).save(folder)
        translator = ctranslate2.Translator(folder, compute_type="float32", intra_threads=torch.get_num_threads())
    names = vocabulary(model.config)
    numbers = {name: number for number, name in enumerate(names)}

    def search(sources: torch.Tensor, size: int, length: int) -> list[list[int]]:
        found = translator.translate_batch(
            [[names[token] for token in row] for row in sources.tolist()],
            beam_size=size,
            min_decoding_length=length,
            max_decoding_length=length,
            suppress_sequences=[["<pad>"], ["<s>"]],
        )
        return [[numbers[name] for name in each.hypotheses[0]] for each in found]

    return search


def vocabulary(config: TransformerConfig) -> list[str]:
    """Return invented token names, because a model with random weights needs no real vocabulary."""
    return [*SPECIAL, *(f"token{number}" for number in range(len(SPECIAL), config.target_vocabulary))]


def converted(model: Transformer) -> TransformerSpec:
    """Return the model in CTranslate2's format, with pre-norm like the shipped model."""
    config = model.config
    spec = TransformerSpec.from_config((config.encoder_layers, config.decoder_layers), config.heads, pre_norm=True)
    sides = (
        (spec.encoder, model.encoder_layers, model.source_embedding, model.source_positions, model.encoder_norm),
        (spec.decoder, model.decoder_layers, model.target_embedding, model.target_positions, model.decoder_norm),
    )
    for part, layers, embedding, positions, norm in sides:
        part.scale_embeddings = config.scale_embedding
        place = part.embeddings[0] if isinstance(part.embeddings, list) else part.embeddings
        place.weight = embedding.weight.detach()
        part.position_encodings.encodings = positions.table
        _norm(part.layer_norm, norm)
        for layer_spec, layer in zip(part.layer, layers, strict=True):
            _layer(layer_spec, layer)
    _linear(spec.decoder.projection, model.generator)
    for register in (spec.register_source_vocabulary, spec.register_target_vocabulary):
        register(vocabulary(config))
    for name, token in zip(("unk", "bos", "eos"), SPECIAL[1:], strict=True):
        setattr(spec.config, f"{name}_token", token)
    spec.config.decoder_start_token = "<s>"
    spec.validate()
    return spec


def _layer(spec, layer: EncoderLayer | DecoderLayer) -> None:
    _attention(spec.self_attention, layer.self_attention, layer.self_attention_residual.norm, cross=False)
    if isinstance(layer, DecoderLayer):
        _attention(spec.attention, layer.cross_attention, layer.cross_attention_residual.norm, cross=True)
    _norm(spec.ffn.layer_norm, layer.feed_forward_residual.norm)
    _linear(spec.ffn.linear_0, layer.feed_forward.expand)
    _linear(spec.ffn.linear_1, layer.feed_forward.contract)


def _attention(spec, attention: MultiHeadAttention, norm: torch.nn.LayerNorm, *, cross: bool) -> None:
    weight, bias = attention.in_projection.weight.detach(), attention.in_projection.bias.detach()
    width = weight.shape[1]
    if cross:
        spec.linear[0].weight, spec.linear[0].bias = weight[:width], bias[:width]
        spec.linear[1].weight, spec.linear[1].bias = weight[width:], bias[width:]
    else:
        spec.linear[0].weight, spec.linear[0].bias = weight, bias
    _linear(spec.linear[-1], attention.out_projection)
    _norm(spec.layer_norm, norm)


def _linear(spec, linear: torch.nn.Linear) -> None:
    spec.weight = linear.weight.detach()
    if linear.bias is not None:
        spec.bias = linear.bias.detach()


def _norm(spec, norm: torch.nn.LayerNorm) -> None:
    spec.gamma, spec.beta = norm.weight.detach(), norm.bias.detach()


@cache
def search_of(contender: str) -> Search:
    """Return a library's search function, created once per process."""
    transformers.logging.set_verbosity_error()
    if contender == "Hugging Face":
        return hugging_face(shape())
    model = random_model()
    if contender == "CTranslate2":
        return ctranslate(model)
    return lambda sources, size, length: write(model, sources, beam=size, length=length)


def timed(contender: str, sources: torch.Tensor, size: int, length: int) -> tuple[list[list[int]], float]:
    """Return a library's output, and the time in seconds. An untimed call first wakes the cores."""
    search = search_of(contender)
    search(sources, size, length)
    began = perf_counter()
    written = search(sources, size, length)
    return written, perf_counter() - began


def timed_capture(sources: torch.Tensor, length: int, capture: bool) -> float:
    """Return the time of greedy decoding in seconds, with or without recording all heads' attention."""
    model = random_model()
    for _ in range(2):
        began = perf_counter()
        with torch.inference_mode():
            cache = model.start_cache(model.encode(sources, None), None)
            list(greedy(model, cache, limit=length, constraints=ENDLESS, capture=capture))
    return perf_counter() - began


def main() -> None:
    arguments = command_line(__doc__.splitlines()[0])
    arguments.add_argument("--repeats", type=int, default=7, help="timed calls per library; the median is reported")
    options = arguments.parse_args()

    torch.manual_seed(1)
    vocabulary_size = shape().source_vocabulary
    versions = {
        "ours": torch.__version__,
        "Hugging Face": transformers.__version__,
        "CTranslate2": ctranslate2.__version__,
    }
    figures: dict[str, Figure] = {}
    with ExitStack() as stack:
        spawn = multiprocessing.get_context("spawn")
        pools = {who: stack.enter_context(ProcessPoolExecutor(1, mp_context=spawn)) for who in versions}

        def turn(who: str, *task: object) -> Any:
            sleep(PAUSE)
            return pools[who].submit(*task).result()

        print(f"{torch.get_num_threads()} threads; median seconds of {options.repeats} calls")
        for length in LENGTHS:
            for batch in BATCHES:
                sources = torch.randint(len(SPECIAL), vocabulary_size, (batch, length))
                sources[:, -1] = END
                for size in (1, BEAM):
                    name = f"{'greedy' if size == 1 else f'beam {size}'}, {batch} x {length} tokens"
                    runs = {who: [] for who in versions}
                    for _ in range(options.repeats):
                        for who, of in runs.items():
                            of.append(turn(who, timed, who, sources, size, length))
                    written = {who: of[0][0] for who, of in runs.items()}
                    assert all(len(row) == length for rows in written.values() for row in rows), name
                    same = sum(map(operator.eq, written["ours"], written["CTranslate2"])) / batch
                    seconds = {who: median(taken for _, taken in of) for who, of in runs.items()}
                    print(
                        f"{name:26}",
                        *(f"{who} {versions[who]} {time:8.4f}" for who, time in seconds.items()),
                        f"(same output as CTranslate2: {same:.0%})",
                        sep="   ",
                        flush=True,
                    )
                    for peer in ("Hugging Face", "CTranslate2"):
                        figures[f"{name}, {peer}"] = figure(seconds["ours"], seconds[peer], f"{peer} {versions[peer]}")
        for length in LENGTHS:
            sources = torch.randint(len(SPECIAL), vocabulary_size, (1, length))
            taken = {True: [], False: []}
            for _ in range(options.repeats):
                for capture, of in taken.items():
                    of.append(turn("ours", timed_capture, sources, length, capture))
            with_rows, without = (median(taken[capture]) for capture in (True, False))
            figures[f"capture, 1 x {length} tokens"] = figure(with_rows, without, "without capture")
    print()
    show(figures, "s")
    timing.write(options.json, figures)


if __name__ == "__main__":
    main()
