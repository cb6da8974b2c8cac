"""Runs the JavaScript tests in Node, on messages and expected numbers that Python writes."""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from attention_atlas.browser.labels import column_labels, row_labels
from attention_atlas.browser.payload import browser_payload
from attention_atlas.browser.scripts import script
from attention_atlas.browser.wire import pack
from pages.ui.change_attention.resolution import resolve
from pages.ui.components.attention_browser import BrowserState
from pages.ui.components.changed_attention import Version, changed_payload
from pages.ui.components.synced_state import StateRequest
from pages.ui.decoding.payload import decoding_payload
from pages.ui.decoding.visited_translations import VisitedTranslation
from pages.ui.params.attention import AttentionParams
from pages.ui.params.change_attention import EditList, EditParams
from pages.ui.params.decoding import DecodingParams
from pages.ui.params.training_lab import LabParams
from pages.ui.training_lab.film import shown_heads
from pages.ui.training_lab.payload import film_payload
from tests.made_up_traces import made_up_trace
from transformer.ablation.continuation import reread
from transformer.analysis.heads.metrics import head_metrics
from transformer.analysis.view import view_of
from transformer.analysis.word_links import by_word, word_links
from transformer.files.paths import ASSETS
from transformer.tasks.config import TaskConfig
from transformer.tasks.events import Event
from transformer.tasks.trainer import TaskTrainer
from transformer.text.languages import LANGUAGES
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.trace import KINDS

HERE = Path(__file__).parent
SCRIPTS = [path for path in ASSETS.rglob("*.js") if path.parent.name != "vendor"]
# Entry scripts: those that the browser fetches, and those inside saved files.
ENTRIES = sorted(
    path.relative_to(ASSETS).with_suffix("").as_posix()
    for path in SCRIPTS
    if "export default mount(" in path.read_text(encoding="utf-8") or path.stem in ("html_export", "lesson_file")
)
HOW = "no Node found: pip install -r tests/requirements.txt brings it"
# The source contains quotation marks and a comma, which CSV must quote. Both texts contain words of several tokens,
# which are merged.
SOURCE, TARGET = 'The old "man", reads a book.', "Der alte Mann liest ein Buch."
FIRST = AttentionParams(layer=0, head=0, words=False)
PINNED = {"rows": [1, 3], "columns": [0, 2, 4]}


def node() -> str:
    """Return the path of Node: the one that tests/requirements.txt installs or, if it is missing, the system's."""
    found = shutil.which("node", path=str(Path(sys.executable).parent)) or shutil.which("node")
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail(HOW)
        pytest.skip(HOW)
    return found


@pytest.fixture(scope="module")
def fixtures(tmp_path_factory, small_translator) -> Path:
    folder = tmp_path_factory.mktemp("fixtures")
    write_codes(folder)
    for kind in KINDS:
        write_attention(folder, small_translator, kind)
    write_decoding(folder, small_translator)
    write_changed(folder, small_translator)
    write_links(folder)
    write_training(folder)
    return folder


def write(folder: Path, name: str, content: object) -> None:
    (folder / name).write_text(json.dumps(content), encoding="utf-8")


def write_codes(folder: Path) -> None:
    """Write a packed message with random codes, and the message's content as JSON."""
    numbers = np.random.default_rng(0).integers(0, 2**16, 257, dtype=np.uint16)
    header = {"text": "für \U0001f642", "numbers": [1, 2.5, None]}
    (folder / "message.bin").write_bytes(pack(header, numbers))
    write(folder, "message.json", {"header": header, "codes": numbers.tolist()})


def write_attention(folder: Path, translator, kind) -> None:
    """Write one attention kind as the browser receives it, and the weights of every head in every view."""
    trace = translator.trace(SOURCE, TARGET)
    metrics = head_metrics(trace, kind, translator.tokenizer.scores)
    (folder / f"{kind}.bin").write_bytes(browser_payload(trace, metrics, vars(replace(FIRST, layer=1)), number=3))
    views = []
    for words in (False, True):
        for special in (False, True):
            view = view_of(trace, kind, words=words, special=special)
            views.append(
                {
                    "words": words,
                    "hide": not special,
                    "rows": row_labels(view.axes),
                    "columns": column_labels(view.axes),
                    "weights": view.weights.tolist(),
                    "mask": view.mask.tolist(),
                }
            )
    table = attention_table(view_of(trace, kind))
    write(folder, f"{kind}.json", {"choice": asdict(FIRST), "pinned": PINNED, "views": views, **table})


def attention_table(view) -> dict[str, object]:
    """Return the CSV table of layer 1, head 2 with pinned tokens, and the sums of these tokens' displayed weights."""
    rows, columns = row_labels(view.axes), column_labels(view.axes)
    shown = np.rint(view.weights[0, 1].astype(np.float64) * 1e4).astype(int)
    of_rows, of_columns = shown[PINNED["rows"]].sum(0), shown[:, PINNED["columns"]].sum(1)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["row", "from", "column", "to", "weight"])
    for r, row in enumerate(rows):
        for c, column in enumerate(columns):
            table.writerow([r + 1, row, c + 1, column, f"{shown[r, c] / 1e4:.4f}" if view.mask[r, c] else "masked"])
    numbers = {side: "+".join(str(index + 1) for index in pinned) for side, pinned in PINNED.items()}
    for c, column in enumerate(columns):
        names = " + ".join(rows[index] for index in PINNED["rows"])
        table.writerow([numbers["rows"], names, c + 1, column, f"{of_rows[c] / 1e4:.4f}"])
    for r, row in enumerate(rows):
        names = " + ".join(columns[index] for index in PINNED["columns"])
        table.writerow([r + 1, row, numbers["columns"], names, f"{of_columns[r] / 1e4:.4f}"])
    return {
        "sums": {
            "rows": (of_rows / 1e4).tolist(),
            "columns": (of_columns / 1e4).tolist(),
            "all": int(shown[np.ix_(PINNED["rows"], PINNED["columns"])].sum()) / 1e4,
        },
        "csv": text.getvalue(),
    }


def write_links(folder: Path) -> None:
    """Write attention maps with start and end symbols, and each word's links, ranked as on the Translate page."""
    random = np.random.default_rng(0)
    words = ["the", "dog", "did", "not", "bark", "at", "it", "."]
    # Weights with four decimal places, as many as the browser displays.
    maps = {kind: random.multinomial(10_000, random.dirichlet(np.ones(9), (2, 2, 9))) / 10_000 for kind in KINDS}
    maps["decoder"] = np.tril(maps["decoder"])
    maps["encoder"][0, 1] = np.eye(9, k=-1)
    maps["encoder"][0, 1, 0, 0] = 1
    trace = made_up_trace(words, words, **maps)
    metrics = {kind: head_metrics(trace, kind, np.zeros(30)) for kind in KINDS}
    links = by_word(word_links(trace, metrics))
    for kind, measured in metrics.items():
        (folder / f"links-{kind}.bin").write_bytes(browser_payload(trace, measured, vars(FIRST), number=1))
        # Decoder columns start with the start symbol, so words are shifted by one.
        shift = kind == "decoder"
        write(
            folder,
            f"links-{kind}.json",
            [
                [
                    asdict(replace(link, column=link.column + shift))
                    for link in links[kind == "encoder", at][0]
                    if link.kind == kind
                ]
                for at in range(len(words) - 1)
            ],
        )


def write_changed(folder: Path, translator) -> None:
    """Write the attention editor's message, and all heads' maps before and after the edits, by token and by word."""
    trace = translator.trace(SOURCE, TARGET)
    edits = "cross.2.all.3~2x60~4x15_cross.1.2.4~even"
    resolved = resolve(EditParams(edits=EditList.parse(edits)), trace)
    after = reread(translator, trace, resolved.interventions)
    scores = translator.tokenizer.key_scores("cross")
    versions = [Version(each, head_metrics(each, "cross", scores)) for each in (after, trace)]
    asked = StateRequest(5, BrowserState("", replace(FIRST, layer=1)))
    (folder / "changed.bin").write_bytes(changed_payload(*versions, asked, "what was changed", edits))
    views = {
        f"{name}-{str(words).lower()}": view_of(each, "cross", words=words).weights.tolist()
        for name, each in (("after", after), ("before", trace))
        for words in (False, True)
    }
    lists = ["none", edits, "encoder.all.all.8-9~even_decoder.1.2.3~4-5x0~6x100"]
    write(folder, "changed.json", {"edits": edits, "lists": lists, "views": views})


def write_training(folder: Path) -> None:
    """Write two short training runs in the training film's input format, and the expected content of their frames."""
    config = TaskConfig(task="copy", d_model=8, heads=2, layers=2, items=4, steps=6, snapshots=3, warmup=2)
    trainer = TaskTrainer(config, "dacb")
    trainer.advance(steps=5)
    run = trainer.run()
    happened = [
        Event(2, "half are right"),
        Event(2, "a mirror", "mirror", "cross", 1, 0),
        Event(4, "a diagonal", "diagonal", "cross", 0, 1),
    ]
    view = {"moment": -1, "score": "auto", "encoder": 0, "decoder": 0, "cross": 0}
    header = {"id": "own 1", "asked": {"number": 1, "view": view}, "running": True}
    (folder / "training.bin").write_bytes(film_payload(run, happened, header))
    modular = TaskTrainer(TaskConfig(task="modular", d_model=8, items=8, steps=4, snapshots=2))
    modular.advance()
    (folder / "modular.bin").write_bytes(film_payload(modular.run(), [], header))
    write(
        folder,
        "modular.json",
        {
            "spectra": [snapshot.spectrum.tolist() for snapshot in modular.snapshots],
            "learned": [snapshot.training_match for snapshot in modular.snapshots],
        },
    )
    write(
        folder,
        "training.json",
        {
            "steps": [snapshot.step for snapshot in run.snapshots],
            "attention": [
                {kind: snapshot.attention[kind].astype(float).reshape(4, -1).tolist() for kind in KINDS}
                for snapshot in run.snapshots
            ],
            "exact": [snapshot.exact_match for snapshot in run.snapshots],
            "shown": {
                kind: layer * config.heads + head
                for kind, (layer, head) in shown_heads(run, happened, LabParams()).items()
            },
        },
    )


def write_decoding(folder: Path, translator) -> None:
    """Write what the decoding component receives for a beam search, and the expected attention rows and scores."""
    params = DecodingParams(method="beam", beam_size=3)
    traced = translator.trace_decoding(SOURCE, DecodingSettings("beam", beam_size=3))
    tokens = tuple(token.id for token in traced.translation.tokens)
    own = VisitedTranslation(tokens, traced.translation.text, float(traced.trace.log_probs.sum()), params)
    asked = {"number": 1, "params": {**asdict(params), "layer": 0, "head": 0}}
    (folder / "decoding.bin").write_bytes(
        decoding_payload(traced, [own], params, translator.tokenizer, asked, (0, 0), LANGUAGES)
    )
    trace = traced.trace
    probabilities = np.exp(trace.candidate_log_probs.astype(np.float64))
    write(
        folder,
        "decoding.json",
        {
            "decoder": trace.decoder.tolist(),
            "cross": trace.cross.tolist(),
            "decoder_mean": trace.decoder.mean((0, 1)).tolist(),
            "cross_mean": trace.cross.mean((0, 1)).tolist(),
            "scores": np.cumsum(trace.log_probs.astype(np.float64)).tolist(),
            "hesitation": int(np.argmin(probabilities[:, 0] - probabilities[:, 1])),
        },
    )


def test_javascript_tests_pass_with_test_data_from_python(fixtures):
    files = sorted(str(path) for path in HERE.glob("*.test.js"))
    done = subprocess.run(
        [node(), "--test", "--test-reporter=spec", *files],
        env={**os.environ, "FIXTURES": str(fixtures)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("entry", ENTRIES)
def test_joined_javascript_files_form_a_valid_module(entry, tmp_path):
    """Two files that define the same name would cause a syntax error."""
    file = tmp_path / "module.mjs"
    file.write_text(script(entry), encoding="utf-8")
    done = subprocess.run([node(), "--check", str(file)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_every_javascript_export_is_imported_without_renaming():
    """Joining the files removes imports and exports, so a renamed import would be undefined."""
    sources = {path: path.read_text(encoding="utf-8") for path in [*SCRIPTS, *HERE.glob("*.js")]}
    imported = [
        (path.parent / file).resolve() / name
        for path, source in sources.items()
        for names, file in re.findall(r'^import \{([^}]*)\} from "([^"]+)";$', source, re.MULTILINE)
        for name in re.split(r"\s*,\s*", names.strip(" \n,"))
    ]
    types = {
        name
        for source in sources.values()
        for names in re.findall(r"@import \{([^}]*)\}", source)
        for name in re.findall(r"\w+", names)
    }
    assert all(re.fullmatch(r"\w+", path.name) for path in imported)
    exported = {
        path / name
        for path, source in sources.items()
        for name in re.findall(r"^export (?:async )?(?:const|class|function) (\w+)", source, re.MULTILINE)
    }
    assert {path for path in exported - set(imported) if path.name not in types} == set()
