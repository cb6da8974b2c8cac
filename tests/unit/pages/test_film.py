import json
from dataclasses import fields, replace

import pytest

from attention_atlas.browser.token_labels import token_label
from pages.ui.params.attention import AttentionParams, PinParams
from pages.ui.params.decoding import DecodingParams
from pages.ui.params.fields import Params
from pages.ui.params.pages import PAGES
from pages.ui.params.state import State
from pages.ui.translate.film import film_file
from pages.ui.translate.frames import FRAMES, TOKENS, film_frames
from transformer.analysis.heads.metrics import head_metrics
from transformer.text.languages import LANGUAGES
from transformer.values.trace import KINDS

NAMES = list(FRAMES)


def frames_of(translator, sentence, word):
    trace = translator.trace(sentence, details=True)
    metrics = {kind: head_metrics(trace, kind, translator.tokenizer.key_scores(kind)) for kind in KINDS}
    found = film_frames(trace, translator.weights(), metrics, word, LANGUAGES, translator.tokenizer)
    return trace, dict(zip(NAMES, found, strict=True))


@pytest.fixture(scope="module")
def film(small_translator):
    return frames_of(small_translator, "The old man reads a book.", 2)


def test_film_cells_show_token_labels_ids_and_weights(film):
    trace, frames = film
    for cell in frames["tokens"]["lines"][0]["cells"]:
        token = trace.source_tokens[int(cell["key"].removeprefix("source-"))]
        assert (cell["label"], cell["number"]) == (token_label(token, trace.source_text), str(token.id))
    changed = frames["weights"]["link"][2]
    weights = trace.encoder[int(changed["layer"]) - 1, int(changed["head"]) - 1, int(changed["encoder_rows"])]
    for cell in frames["weights"]["lines"][0]["cells"]:
        weight = float(weights[int(cell["key"].removeprefix("source-"))])
        assert cell["tint"] == weight and cell["number"] == ("≈ 0" if weight < 0.005 else f"{weight:.2f}")


def test_vectors_of_a_film_frame_share_one_colour_scale(film):
    _, frames = film
    for name in ("vector", "scores", "values"):
        vectors = [line for line in frames[name]["lines"] if line["palette"] == "difference"]
        cells = [cell for line in vectors for cell in line["cells"]]
        numbers = [float(cell["number"].replace("−", "-")) for cell in cells]
        by_number = sorted(zip(numbers, (cell["tint"] for cell in cells), strict=True))
        assert all(0 <= tint <= 1 for _, tint in by_number)
        assert all(b[1] >= a[1] for a, b in zip(by_number, by_number[1:], strict=False) if b[0] > a[0]), name


def test_chosen_word_is_marked_in_every_film_frame(film):
    _, frames = film
    row, step = frames["weights"]["link"][2]["encoder_rows"], frames["mask"]["link"][2]["decoder_rows"]
    expected = {
        "tokens": f"source-{row}",
        "weights": f"source-{row}",
        "cross": f"source-{row}",
        "mask": f"target-{step}",
        "again": f"predicted-{step}",
    }
    for name, key in expected.items():
        cells = frames[name]["lines"][-1]["cells"]
        assert [cell["key"] for cell in cells if cell.get("mark") == "chosen"] == [key], name


def test_mask_frame_of_the_film_hides_later_tokens(film):
    trace, frames = film
    step = int(frames["mask"]["link"][2]["decoder_rows"])
    for cell in frames["mask"]["lines"][0]["cells"]:
        assert (cell.get("mark") == "masked") == (int(cell["key"].removeprefix("target-")) > step)
    assert f"{len(trace.target_tokens) - 1 - step} of {len(trace.target_tokens)} tokens" in frames["mask"]["says"]


def test_film_labels_a_normalised_embedding_and_shows_negative_similarity(small_translator):
    trace, weights = small_translator.trace("The old man reads a book.", details=True), small_translator.weights()
    stream = trace.residual_stream("encoder").copy()
    stream[-1] = -stream[0]
    trace = replace(trace, details={**trace.details, "encoder_residual": stream})
    weights = replace(weights, config=replace(weights.config, embedding_norm=True))
    metrics = {kind: head_metrics(trace, kind, None) for kind in KINDS}
    found = film_frames(trace, weights, metrics, 2, LANGUAGES, small_translator.tokenizer)
    frames = dict(zip(NAMES, found, strict=True))
    assert frames["vector"]["lines"][-1]["name"] == "= input of the first layer, after a layer normalisation"
    assert frames["layers"]["lines"][0]["cells"][-1]["number"] == "−1.00"


@pytest.mark.parametrize("name", NAMES)
def test_film_frame_links_to_an_existing_page_with_valid_settings(film, name):
    _, page, changed = film[1][name]["link"]
    assert page in PAGES
    assert changed.keys() <= {cls.PREFIX + each.name for cls in Params.registered() for each in fields(cls)}
    state = State.from_address({"text": "x", **changed})
    address = state.to_address()
    assert {key: address.get(key, value) for key, value in changed.items()} == changed
    if "layer" in changed:
        chosen = state.of(AttentionParams)
        assert (chosen.layer + 1, chosen.head + 1) == (int(changed["layer"]), int(changed["head"]))
    for kind in KINDS:
        if f"{kind}_rows" in changed:
            assert state.of(PinParams).of(kind) == ((int(changed[f"{kind}_rows"]),), ())
    if "step" in changed:
        assert state.of(DecodingParams).step == int(changed["step"]) - 1


def test_film_of_a_long_sentence_shows_only_the_tokens_that_fit(small_translator):
    _, frames = frames_of(small_translator, "The old man reads a book and the old man reads a book.", 2)
    for name in ("tokens", "weights", "cross", "mask", "again"):
        assert len(frames[name]["lines"][-1]["cells"]) == TOKENS
    assert f"({TOKENS} of " in frames["weights"]["lines"][0]["name"]
    assert any(cell.get("mark") == "chosen" for cell in frames["weights"]["lines"][0]["cells"])


def test_film_file_has_every_frame_and_escapes_its_text(film):
    message = {"id": "x", "direction": "ltr", "frames": list(film[1].values())}
    document = film_file(message, "</script><script>alert(1)</script>")
    assert document.count("</script>") == 2
    _, _, held = document.partition('<script id="content" type="application/json">')
    content = json.loads(held.partition("</script>")[0])
    assert [frame["title"] for frame in content["frames"]] == [title for title, *_ in FRAMES.values()]
    assert not any("link" in frame for frame in content["frames"])
