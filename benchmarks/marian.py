"""Times a random model of OPUS-MT's size, and compares it with Hugging Face and CTranslate2.

    pip install -r benchmarks/requirements.txt
    python benchmarks/marian.py [--rounds N] [--pieces N]

This project and its peers take turns in one process, with the same number of threads. The median of the rounds is
reported. A traced pass reads a given translation and stores every head's attention weights. CTranslate2 only decodes,
and is skipped if it is not installed. Import, loading, memory and the first page are measured only for this project.
"""

import argparse
import contextlib
import importlib.util
import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter

import sentencepiece
import torch
import transformers
from streamlit.testing.v1 import AppTest

# Make imports from the repository work when Python runs this file by path.
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.models import write
from benchmarks.timing import medians
from transformer.checkpoints.memory import memory_needed
from transformer.checkpoints.model_files import WEIGHTS
from transformer.files.paths import ASSETS
from transformer.interop.importer import import_model
from transformer.running.translator import Translator

TOKENS = 65_001
LENGTH = 20
# Bytes in a megabyte, as in `benchmarks.server.memory`.
MB = 2**20
# Beam size and number of steps of the search whose memory is measured.
BEAM, STEPS = 5, 60
TEXT = "The old man is reading a newspaper in the garden."
SIZES = {
    "d_model": 512,
    "encoder_layers": 6,
    "decoder_layers": 6,
    "encoder_attention_heads": 8,
    "decoder_attention_heads": 8,
    "encoder_ffn_dim": 2048,
    "decoder_ffn_dim": 2048,
}


def write_peer(folder: Path, tokens: int) -> transformers.MarianMTModel:
    """Write a model folder in OPUS-MT's format, in half precision; return the model in float32.

    The model never ends a sentence, so every search writes as many tokens as requested.
    """
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter((ASSETS / "sentences.txt").read_text(encoding="utf-8").splitlines()),
        model_writer=model,
        vocab_size=400,
        minloglevel=2,
        hard_vocab_limit=False,
    )
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    known = [processor.id_to_piece(number) for number in range(3, processor.get_piece_size())]
    filled = [*known, *(f"▁filler{number}" for number in range(tokens - len(known) - 3))]
    ids = {text: number for number, text in enumerate(["</s>", "<unk>", *filled, "<pad>"])}
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(model.getvalue())
    (folder / "vocab.json").write_text(json.dumps(ids), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"source_lang": "en", "target_lang": "fr"}))
    pad = len(ids) - 1
    torch.manual_seed(1)
    peer = transformers.MarianMTModel(
        transformers.MarianConfig(
            vocab_size=len(ids),
            activation_function="swish",
            scale_embedding=True,
            max_position_embeddings=512,
            pad_token_id=pad,
            eos_token_id=0,
            bos_token_id=0,
            decoder_start_token_id=pad,
            forced_eos_token_id=None,
            dtype=torch.float16,
            **SIZES,
        )
    ).half()
    peer.final_logits_bias[0, 0] = -1e4
    peer.save_pretrained(folder)
    return transformers.MarianMTModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()


def loading_peak(folder: Path | None) -> float:
    """Return the peak memory, in GB, of a process that loads a model or, without `folder`, only imports modules."""
    code = (
        "import os, sys; from pathlib import Path; from benchmarks.server import memory; "
        "from transformer.running.translator import Translator; "
        "translator = Translator.load(Path(sys.argv[1]), 'cpu') if sys.argv[1] else None; "
        "print(memory(os.getpid(), 'VmHWM'))"
    )
    return _gigabytes(code, folder)


def decoding_peak(folder: Path) -> float:
    """Return the peak memory, in GB, that a beam search with its search tree adds to a process.

    Before the search, the process has loaded the model and translated a sentence. The search never ends before its
    limit. It builds a search tree, because the page Decoding shows one.
    """
    code = f"""
import os, sys, torch
from pathlib import Path
from benchmarks.server import memory
from transformer.decoding.constraints import Constraints
from transformer.decoding.search import search
from transformer.values.decoding_settings import DecodingSettings
from transformer.model.fast.malloc import return_freed_memory
from transformer.running.translator import Translator
return_freed_memory()
translator = Translator.load(Path(sys.argv[1]), "cpu")
translator.translate("A.")
Path("/proc/self/clear_refs").write_text("5")
before = memory(os.getpid(), "VmHWM")
model = translator._model
ids = torch.tensor([[token.id for token in translator.tokenizer.encode_source({TEXT!r})]])
endless = Constraints(suppressed=frozenset({{translator.tokenizer.symbols.end}}))
with torch.inference_mode():
    cache = model.start_cache(model.encode(ids, None), None)
    found = search(
        model, cache, DecodingSettings("beam", beam_size={BEAM}), endless, limit={STEPS}, capture=True
    )
assert len(found.tokens) == {STEPS} and found.tree is not None
print(memory(os.getpid(), "VmHWM") - before)
"""
    return _gigabytes(code, folder)


def _gigabytes(code: str, folder: Path | None) -> float:
    """Run code in a fresh process, and convert the megabytes that it prints to gigabytes."""
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder or "")], cwd=ASSETS.parent, capture_output=True, text=True, check=True
    )
    return float(done.stdout) * MB / 1e9


def time_to_first_map(folder: Path) -> float:
    """Return the seconds from choosing the model in the app until the cross-attention page has been recomputed."""
    with contextlib.chdir(folder.parents[1]):
        app = AppTest.from_file(str(ASSETS.parent / "app.py"), default_timeout=600)
        app.query_params["text"] = TEXT
        app.switch_page("pages/cross_attention.py").run()
        begin = perf_counter()
        app.selectbox("model").set_value(folder.name).run()
        assert not app.exception and not app.error
        return perf_counter() - begin


def generate(model: transformers.MarianMTModel, source: torch.Tensor, beam: int) -> torch.Tensor:
    with torch.inference_mode():
        return model.generate(
            source,
            attention_mask=torch.ones_like(source),
            num_beams=beam,
            do_sample=False,
            min_new_tokens=LENGTH,
            max_new_tokens=LENGTH,
            bad_words_ids=[[model.config.pad_token_id]],
            renormalize_logits=True,
        )


def read_all(model: transformers.MarianMTModel, source: torch.Tensor, target: torch.Tensor) -> object:
    with torch.inference_mode():
        return model(input_ids=source, decoder_input_ids=target, output_attentions=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--rounds", type=int, default=5, help="number of rounds; the median is reported (default: %(default)s)"
    )
    parser.add_argument("--pieces", type=int, default=TOKENS, help="vocabulary size (default: %(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        theirs, ours = Path(place) / "opus-mt-en-fr", Path(place) / "models" / "en-fr"
        ours.parent.mkdir()
        theirs.mkdir()
        peer = write_peer(theirs, options.pieces)
        begin = perf_counter()
        import_model(str(theirs), ours)
        print(f"imported in {perf_counter() - begin:.1f} s")
        begin = perf_counter()
        translator = Translator.load(ours, "cpu")
        print(f"loaded in {perf_counter() - begin:.1f} s, {translator.parameters / 1e6:.0f} million parameters")
        print(
            f"peak memory of a process that loads the model: {loading_peak(ours):.2f} GB, including imports "
            f"({loading_peak(None):.2f} GB); estimated beforehand: {memory_needed(ours / WEIGHTS) / 1e9:.2f} GB"
        )
        source = torch.tensor([[token.id for token in translator.tokenizer.encode_source(TEXT)]])
        end = translator.tokenizer.symbols.end
        written = generate(peer, source, 1)
        target = [*written[0, 1:LENGTH].tolist(), end]
        print(
            f"beam search of size {BEAM} over {STEPS} steps, with its search tree: {decoding_peak(ours) * 1000:.0f} MB "
            "more than the loaded model; the log-probabilities of all tokens at all steps would take "
            f"{STEPS * BEAM * options.pieces * 4 / 1e6:.0f} MB"
        )
        print(
            f"from choosing the model in the app to the finished cross-attention page: {time_to_first_map(ours):.1f} s"
        )
        report(
            "traced pass",
            medians(
                {
                    "ours": lambda: translator.trace(TEXT, target),
                    "Hugging Face": lambda: read_all(peer, source, written[:, :LENGTH]),
                },
                options.rounds,
            ),
        )
        decoder = ctranslate(theirs, Path(place) / "ctranslate2")
        for name, beam in (("greedy", 1), ("beam 4", 4)):
            contenders: dict[str, Callable[[], object]] = {
                "ours": lambda beam=beam: write(translator._model, source, beam=beam, length=LENGTH),
                "Hugging Face": lambda beam=beam: generate(peer, source, beam),
            }
            if decoder is not None:
                tokens = [translator.tokenizer.texts[number] for number in source[0].tolist()]
                contenders["CTranslate2"] = lambda beam=beam, tokens=tokens: decoder.translate_batch(
                    [tokens], beam_size=beam, min_decoding_length=LENGTH, max_decoding_length=LENGTH
                )
            report(f"{name}, {LENGTH} tokens", medians(contenders, options.rounds))


def ctranslate(folder: Path, output: Path) -> object | None:
    """Return the model converted for CTranslate2; None if CTranslate2 is not installed."""
    if importlib.util.find_spec("ctranslate2") is None:
        print("CTranslate2 is not installed, so it is skipped")
        return None
    import ctranslate2

    ctranslate2.converters.TransformersConverter(str(folder)).convert(str(output))
    return ctranslate2.Translator(str(output), compute_type="float32", intra_threads=torch.get_num_threads())


def report(what: str, found: Mapping[str, float]) -> None:
    """Print one line with each library's time in seconds and this project's time divided by it."""
    ours = found["ours"]
    others = ", ".join(
        f"{name} {taken:.3f} s (ours / theirs {ours / taken:.2f})" for name, taken in found.items() if name != "ours"
    )
    print(f"{what}: ours {ours:.3f} s, {others}", flush=True)


if __name__ == "__main__":
    main()
