"""Times switching off every head, patching, and explaining a translation, and measures peak memory.

    pip install -r benchmarks/requirements.txt
    python benchmarks/interventions.py [--json FILE]

Heads are switched off one at a time, in a model of the shipped model's size with random weights. For each head, the
log-probability of one translation of 12 words is computed in three ways: by this project in batches, by this project in
single runs, and by hooks on Hugging Face's Marian. Head importance is timed on the shipped model; the time includes
tokenizing, translating, and estimating importance from gradients.

Patching copies each cell of one sentence's residual stream into a run on another sentence, and measures the difference
between two logits. It is compared with TransformerLens (`pip install 'transformer-lens>=3,<4'`; skipped if missing).
TransformerLens patches decoder-only models, so its decoder has as many layers as this project's encoder and decoder
together. It runs the model once per cell, so only every twelfth of its cells is timed; times are per cell.

At the end, `attributions.py` (with captum and inseq), `graph.py` and `peak_memory.py` run. Run this benchmark on idle
cores.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from itertools import product
from pathlib import Path

import pandas
import torch
import transformers

# Make imports from the repository work when Python runs this file by path.
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import attributions, graph, peak_memory
from benchmarks.attributions import SENTENCE
from benchmarks.models import marian, random_model
from benchmarks.timing import Figure, command_line, figure, medians, show, write
from transformer.ablation.importance import head_importance
from transformer.config import TransformerConfig
from transformer.model.transformer import Transformer
from transformer.running.scoring import contrasts, score
from transformer.running.translator import Translator
from transformer.text.tokenizer import END, START
from transformer.values.interventions import Head, Interventions, all_heads
from transformer.values.patches import PatchSite

# Typical number of tokens in a sentence of 12 words, including the end symbol.
LENGTH = 15
FIRST_TOKEN = 4
# TransformerLens is slower, so only every PEER_CELLS-th cell is patched there.
PEER_CELLS = 12


def in_batches(model: Transformer, source: torch.Tensor, predicted: torch.Tensor) -> list[float]:
    """Return the translation's log-probability without each head, computed in a few batches."""
    variants = [Interventions(gates={head: 0.0}) for head in all_heads(model.config)]
    with torch.inference_mode():
        return score(model, source, _shifted(predicted), predicted[0], variants).log_probs.sum(axis=1).tolist()


def one_by_one(model: Transformer, source: torch.Tensor, predicted: torch.Tensor) -> list[float]:
    """Return the translation's log-probability without each head, computed in one run per head."""
    target, found = _shifted(predicted), []
    with torch.inference_mode():
        for head in all_heads(model.config):
            scores = score(model, source, target, predicted[0], [Interventions(gates={head: 0.0})])
            found.append(float(scores.log_probs.sum()))
    return found


def by_hooks(
    model: transformers.MarianMTModel, config: TransformerConfig, source: torch.Tensor, predicted: torch.Tensor
) -> list[float]:
    """Return the translation's log-probability without each head, from Hugging Face's Marian model.

    A hook zeroes the head's output.
    """
    target, found = _shifted(predicted), []
    with torch.inference_mode():
        for head in all_heads(config):
            with _cleared(model, head, config.d_model // config.heads):
                logits = model(input_ids=source, decoder_input_ids=target, use_cache=False).logits
            log_probs = logits.log_softmax(dim=-1).gather(-1, predicted[..., None])
            found.append(float(log_probs.sum()))
    return found


def every_cell(model: Transformer, source: torch.Tensor, predicted: torch.Tensor) -> tuple[int, Callable[[], object]]:
    """Return the number of cells in the residual streams of encoder and decoder, and a function that patches every
    cell, in batches.
    """
    pair = tuple(source[0].flip(0).tolist()), tuple(_shifted(predicted)[0].tolist())
    sites: tuple[PatchSite, ...] = "encoder.residual", "decoder.residual"
    depths = range(1 + model.config.encoder_layers), range(1 + model.config.decoder_layers)
    variants = [
        Interventions(patches={(site, depth, 0, at): at}, other=pair)
        for site, each in zip(sites, depths, strict=True)
        for depth in each
        for at in range(LENGTH)
    ]

    def run() -> None:
        with torch.inference_mode():
            contrasts(model, source, _shifted(predicted), (FIRST_TOKEN, FIRST_TOKEN + 1), variants)

    return len(variants), run


def lens(config: TransformerConfig) -> tuple[str, int, Callable[[], object]] | None:
    """Return TransformerLens's name and version, the number of timed cells, and a function that patches these cells;
    None if TransformerLens is not installed.
    """
    try:
        from transformer_lens import HookedTransformer, HookedTransformerConfig, patching  # pyright: ignore
    except ImportError:
        return None
    layers = config.encoder_layers + config.decoder_layers
    model = HookedTransformer(
        HookedTransformerConfig(
            n_layers=layers,
            d_model=config.d_model,
            n_ctx=LENGTH,
            d_head=config.d_model // config.heads,
            n_heads=config.heads,
            d_mlp=config.d_ff,
            act_fn="relu",
            d_vocab=config.source_vocabulary,
            device="cpu",
        )
    ).eval()
    text, other = torch.randint(FIRST_TOKEN, config.source_vocabulary, (2, 1, LENGTH))
    cells = pandas.DataFrame(list(product(range(layers), range(LENGTH)))[::PEER_CELLS], columns=["layer", "pos"])
    patching.tqdm = lambda cells: cells

    def run() -> None:
        with torch.inference_mode():
            _, cache = model.run_with_cache(other)
            patching.generic_activation_patch(
                model,
                text,
                cache,
                lambda logits: logits[0, -1, 4] - logits[0, -1, 5],
                patching.layer_pos_patch_setter,
                "resid_pre",
                index_df=cells,
            )

    return f"TransformerLens {version('transformer-lens')}", len(cells), run


def patched(model: Transformer, source: torch.Tensor, predicted: torch.Tensor, repeats: int) -> dict[str, Figure]:
    """Return the milliseconds per patch, in this project and in TransformerLens."""
    cells, run = every_cell(model, source, predicted)
    found = lens(model.config)
    peer = {} if found is None else {found[0]: found[2]}
    seconds = medians({"ours": run, **peer}, repeats)
    name, theirs = (None, None) if found is None else (found[0], 1e3 * seconds[found[0]] / found[1])
    return {f"one of {cells} patches of the residual stream": figure(1e3 * seconds["ours"] / cells, theirs, name)}


@contextmanager
def _cleared(model: transformers.MarianMTModel, head: Head, width: int) -> Iterator[None]:
    kind, layer, number = head
    stack = model.model.encoder if kind == "encoder" else model.model.decoder
    attention = stack.layers[layer].encoder_attn if kind == "cross" else stack.layers[layer].self_attn
    span = slice(number * width, (number + 1) * width)

    def clear(_module: torch.nn.Module, inputs: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
        heads = inputs[0].clone()
        heads[..., span] = 0
        return (heads,)

    handle = attention.out_proj.register_forward_pre_hook(clear)
    try:
        yield
    finally:
        handle.remove()


def _shifted(predicted: torch.Tensor) -> torch.Tensor:
    """Return the decoder's input ids for predicting the given token ids, [1, T]."""
    return torch.cat([torch.full_like(predicted[:, :1], START), predicted[:, :-1]], dim=1)


def board(repeats: int) -> dict[str, Figure]:
    """Return the time, in seconds, to measure every head's importance on 12 words."""
    translator = Translator.load(device="cpu")
    seconds = medians({"board": lambda: head_importance(translator, SENTENCE)}, repeats)["board"]
    return {"12 words: head importance, starting from the text": figure(seconds)}


def main() -> None:
    arguments = command_line(__doc__.splitlines()[0])
    arguments.add_argument("--repeats", type=int, default=5, help="timed calls per function; the median is reported")
    options = arguments.parse_args()

    attributions.quiet()
    model = random_model()
    config = model.config
    peer = marian(config)
    source, predicted = torch.randint(FIRST_TOKEN, config.source_vocabulary, (2, 1, LENGTH))
    source[:, -1] = predicted[:, -1] = END

    together, alone = in_batches(model, source, predicted), one_by_one(model, source, predicted)
    assert max(abs(one - other) for one, other in zip(together, alone, strict=True)) < 1e-3
    hooks = f"hooks on Hugging Face {transformers.__version__}"
    seconds = medians(
        {
            "in batches": lambda: in_batches(model, source, predicted),
            "one by one": lambda: one_by_one(model, source, predicted),
            hooks: lambda: by_hooks(peer, config, source, predicted),
        },
        options.repeats,
    )
    count = len(all_heads(config))
    print(
        f"{torch.get_num_threads()} threads, torch {torch.__version__}; median of {options.repeats} calls; "
        f"{count} heads, {LENGTH} x {LENGTH} tokens"
    )
    figures = {
        f"{count} ablations, {name}": figure(seconds["in batches"], seconds[name], name)
        for name in ("one by one", hooks)
    }
    figures |= board(options.repeats)
    show(figures, "s")
    patches = patched(model, source, predicted, options.repeats)
    show(patches, "ms")
    figures |= patches
    figures |= attributions.figures(options.repeats)
    figures |= graph.figures(options.repeats)
    figures |= peak_memory.figures()
    write(options.json, figures)


if __name__ == "__main__":
    main()
