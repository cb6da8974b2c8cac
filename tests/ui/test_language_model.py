import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attention_atlas.browser.wire import unpack
from pages.ui.language_model.copying_heads import PLACES, named_heads
from pages.ui.language_model.likelihood import score_table, verdict
from pages.ui.language_model.reading import REPETITION
from pages.ui.params.language_model import BEGINNING, FIRST, SECOND
from pages.ui.text.number_format import typeset
from tests.conftest import POSITIONS
from tests.ui import driver
from tests.ui.driver import drawn_maps, headers, healthy, messages, submit, tell, texts, typed
from transformer.checkpoints.available_models import FOLDER_VARIABLE, SHIPPED_LANGUAGE_MODEL
from transformer.checkpoints.checkpoint import LanguageModel, load_language_model
from transformer.language_modelling.continuation import continue_text
from transformer.language_modelling.head_scores import NAMES, HeadScores, head_scores
from transformer.language_modelling.scoring import score_text
from transformer.language_modelling.tracing import trace_continuation
from transformer.values.decoding_settings import METHODS, DecodingSettings

PAGE = "pages/language_model.py"


@pytest.fixture(scope="session")
def loaded(tiny_language_model: Path) -> LanguageModel:
    return load_language_model(tiny_language_model, "cpu")


@pytest.fixture(autouse=True)
def installed_language_model(monkeypatch: pytest.MonkeyPatch, tiny_language_model: Path) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tiny_language_model.parent))


def opened(**address: str) -> AppTest:
    return driver.opened(PAGE, **{"text": "Hello.", "lm_model": "tiny", **address})


def everything(test: AppTest) -> str:
    """Return all text on the page, including code and help texts."""
    return "\n".join(str(getattr(each, "proto", "")) for each in test._tree).replace("\\", "")


def map_of(test: AppTest) -> dict:
    (header,) = headers(test)
    return header


@pytest.mark.parametrize("method", METHODS)
def test_every_decoding_method_continues_a_text(loaded, method):
    test = opened(lm_text="The dog", lm_method=method, lm_seed="3", lm_beam_size="2", lm_length="7")
    assert healthy(test)
    settings = {"beam": {"beam_size": 2}, "sample": {"temperature": 0.7, "seed": 3}}.get(method, {})
    found = continue_text(loaded.model, loaded.tokenizer, "The dog", DecodingSettings(method, **settings), limit=7)
    header = map_of(test)
    assert header["texts"] == {"source": "", "target": found.text} and header["kind"] == "decoder"
    assert (header["layers"], header["heads"]) == (3, 4)
    assert header["queries"] == len(found.beginning) + len(found.tokens)
    assert f"log-probability {typeset(found.log_prob)} nats" in texts(test)


@pytest.mark.thorough
def test_full_stop_is_attached_to_its_word():
    test = opened(lm_model="", lm_text="My little sister wants to eat", lm_length="1")
    assert "My little sister wants to eat**\u2060\\.**" in texts(test)
    test = opened(lm_model="", lm_text="The old man went to the", lm_length="1")
    assert "The old man went to the **park" in texts(test)


def test_text_and_settings_are_in_the_url_and_survive_a_page_change():
    test = opened()
    assert typed(test, "beginning") == BEGINNING
    submit(test, "My sister", "beginning")
    test.number_input(key="lm_length").set_value(3).run()
    test.segmented_control(key="lm_method").set_value("sample").run()
    assert healthy(test) and map_of(test)["texts"]["target"].startswith("My sister")
    written = {name: test.query_params[name] for name in ("lm_text", "lm_length", "lm_method")}
    assert written == {"lm_text": "My sister", "lm_length": "3", "lm_method": "sample"}
    before = map_of(test)["texts"]
    test.switch_page("pages/about.py").run()
    test.switch_page(PAGE).run()
    assert healthy(test) and map_of(test)["texts"] == before
    assert test.query_params["text"] == "Hello.", "the translator's sentence is another one"


def test_chosen_heads_of_the_language_model_and_the_translator_are_stored_separately():
    test = opened(lm_layer="3", lm_head="2", layer="6", head="8")
    choice = map_of(test)["asked"]["choice"]
    assert (choice["layer"], choice["head"]) == (2, 1)
    browser = next(node for node in test.get("bidi_component") if node.proto.bytes)
    tell(test, browser, {"choice": {**choice, "layer": 1, "head": 3, "rows": [2], "id": map_of(test)["id"]}})
    assert healthy(test) and any("layer 2, head 4" in each.label for each in test.expander)
    address = {name: test.query_params[name] for name in ("lm_layer", "lm_head", "lm_rows", "layer", "head")}
    assert address == {"lm_layer": "2", "lm_head": "4", "lm_rows": "2", "layer": "6", "head": "8"}
    submit(test, "Another beginning", "beginning")
    assert "lm_rows" not in test.query_params, "what was pinned belongs to the text before"


def test_page_warns_if_a_text_leaves_room_for_only_one_token(loaded):
    beginning = "1" * (POSITIONS - 2)
    assert len(loaded.tokenizer.encode(beginning, end=False)) == POSITIONS - 1
    test = opened(lm_text=beginning, lm_length="9")
    assert healthy(test) and f"only {POSITIONS} positions and has used them all" in texts(test)


def test_language_model_continues_an_empty_text(loaded):
    test = opened(lm_text="", lm_length="5")
    # The URL keeps an empty text.
    assert healthy(test) and typed(test, "beginning") == ""
    found = continue_text(loaded.model, loaded.tokenizer, "", DecodingSettings(), limit=5)
    assert map_of(test)["texts"]["target"] == found.text


@pytest.mark.parametrize("text", ["word " * 1000, "x" * 20_000, "dog " * POSITIONS])
def test_too_long_text_is_reported_and_kept(text):
    test = opened()
    submit(test, text, "beginning")
    assert healthy(test, warned=True)
    (warning,) = test.warning
    assert "shorten the text" in warning.value and f"at most {POSITIONS - 1} tokens" in warning.value
    assert typed(test, "beginning") == text
    again = opened(**{name: test.query_params[name] for name in test.query_params})
    assert [each.value for each in again.warning] == [warning.value] or len(text) > 10_000
    assert healthy(again, warned=True) and text.startswith(typed(again, "beginning") or "?")


def test_error_messages_do_not_reveal_server_folders(tiny_language_model, tmp_path, monkeypatch):
    """Covers a working model and a damaged model."""
    test = opened()
    driver.expand(test)
    assert "from the folder" in texts(test) and "load_language_model(Path(" in everything(test)
    assert str(tiny_language_model.parent) not in everything(test)
    damaged = tmp_path / "models" / "damaged"
    shutil.copytree(tiny_language_model, damaged)
    (damaged / "model.safetensors").write_bytes(b"{}")
    monkeypatch.setenv(FOLDER_VARIABLE, str(damaged.parent))
    test = opened(lm_model="damaged")
    assert "damaged" in test.error[0].value and str(tmp_path) not in everything(test)


def test_page_compares_the_perplexities_of_two_texts(loaded):
    test = opened(lm_part="likely")
    scores = [score_text(loaded.model, loaded.tokenizer, text) for text in (FIRST, SECOND)]
    assert healthy(test)
    shown = driver.table(test, "text", "perplexity per token")
    assert shown["text"].tolist() == [f"1: {FIRST}", f"2: {SECOND}"]
    assert shown["log-probability (nats)"].tolist() == [f"{score.log_prob:.4f}" for score in scores]
    assert shown["perplexity per token"].tolist() == [f"{score.perplexity:,.1f}" for score in scores]
    assert " times as likely as " in texts(test) and "fair comparison" not in texts(test), "both have as many tokens"
    tokens = driver.table(test, "token", "log-probability so far (nats)")
    assert tokens["log-probability so far (nats)"].iloc[-1] == f"{scores[0].log_prob:.4f}"
    submit(test, "", "lm_second")
    assert healthy(test) and len(driver.table(test, "text", "bits per byte")) == 1
    assert "a perplexity of" in texts(test) and "lm_second" in test.query_params
    submit(test, "", "lm_first")
    assert healthy(test, warned=True) and "type at least one word" in test.warning[0].value
    submit(test, SECOND, "lm_second")
    assert healthy(test) and [each.label for each in test.expander] == ["Token by token: text 2"]
    submit(test, "dog " * 400, "lm_first")
    assert healthy(test, warned=True) and typed(test, "lm_first") == "dog " * 400
    assert test.warning[0].value.startswith("Text 1: ")
    assert driver.table(test, "text", "bits per byte")["text"].tolist() == [f"2: {SECOND}"]


def test_texts_of_different_lengths_are_compared_per_token(loaded):
    texts_typed = "A dog.", "A dog sits on the mat, and a cat sits on the table."
    short, long = (score_text(loaded.model, loaded.tokenizer, text) for text in texts_typed)
    said = " ".join(verdict({1: short, 2: long}))
    assert f"text 1 has {len(short.tokens)} tokens and text 2 has {len(long.tokens)} tokens" in said
    assert "every further token makes a text less likely" in said
    assert f"{short.perplexity:,.1f} and {long.perplexity:,.1f} per token" in said
    better = 1 if short.perplexity < long.perplexity else 2
    assert f"expects **text {better}** more" in said
    # The first text has one word per token, and the second has one word per two tokens.
    made = {
        number: replace(score, text="a " * words, log_probs=np.full(len(score.tokens), log_prob))
        for number, score, words, log_prob in (
            (1, short, len(short.tokens), -1.0),
            (2, long, len(long.tokens) // 2, -0.9),
        )
    }
    said = verdict(made)[1]
    assert "By the first measure, the model expects **text 2** more; by the second, **text 1**" in said
    alone = " ".join(verdict({2: short}))
    assert f"{short.perplexity:,.1f} per token" in alone and "text 1" not in alone


def test_long_text_is_abbreviated_and_a_large_perplexity_is_written_as_a_power_of_ten(loaded):
    score = score_text(loaded.model, loaded.tokenizer, "語" * 18)
    assert " · 10" in score_table({1: score})["perplexity per word"][0]
    longer = score_text(loaded.model, loaded.tokenizer, "dog " * 20)
    assert "dog …**" in verdict({1: longer})[0]


def test_copying_heads_are_named_with_their_scores(loaded):
    test = opened(lm_part="heads")
    assert healthy(test)
    scores = head_scores(loaded.model)
    assert len(drawn_maps(test)) == 3
    parts = [data["parts"] for _, data in messages(test, "parts")]
    said = ["".join(part if isinstance(part, str) else part["text"] for part in each) for each in parts]
    for name, sentence in zip(NAMES, said, strict=True):
        values = getattr(scores, name)
        best = np.unravel_index(values.argmax(), values.shape)
        assert f"layer {best[0] + 1}, head {best[1] + 1}" in sentence and f"{values.max():.2f}" in sentence


@pytest.mark.parametrize("name", NAMES)
def test_caption_states_that_no_head_puts_more_than_half_its_attention_on_the_named_token(name):
    scores = HeadScores(*(np.array([[0.1, 0.47], [0.2, 0.3]]) for _ in NAMES))
    assert "".join(map(str, named_heads(scores, name))) == (
        f"No head of this model has more than half of its attention on {PLACES[name]}; the closest is layer 1, head 2 "
        "with 0.47."
    )


@pytest.mark.parametrize(
    ("beginning", "kept"),
    [(BEGINNING, False), pytest.param("Tom and Ann and Tom and", True, marks=pytest.mark.thorough)],
)
def test_link_to_the_induction_head_opens_a_text_with_repeated_tokens(beginning, kept):
    test = opened(lm_model=SHIPPED_LANGUAGE_MODEL, lm_part="heads", lm_text=beginning, lm_length="3")
    node, data = next(each for each in messages(test, "parts") if "“induction”" in str(each[1]["parts"]))
    link = next(part for part in data["parts"] if not isinstance(part, str))
    driver.send(test, node, "open", {name: link[name] for name in ("kind", "layer", "head")})
    assert healthy(test) and test.query_params["lm_layer"] == str(link["layer"] + 1)
    assert "lm_part" not in test.query_params
    assert typed(test, "beginning") == (beginning if kept else REPETITION)
    shown = texts(test)
    assert "is called “induction”. In this text, " in shown and "tokens repeat an earlier token" in shown
    submit(test, "I was born in", "beginning")
    assert "In this text, no token occurs twice" in texts(test)


def test_displayed_decoding_steps_match_the_continuation(loaded):
    test = opened(lm_part="steps", lm_text="The dog", lm_method="beam", lm_beam_size="2", lm_length="6", lm_step="2")
    assert healthy(test)
    node = next(node for node in test.get("bidi_component") if node.proto.bytes)
    header, codes = unpack(node.proto.bytes)
    settings = DecodingSettings("beam", beam_size=2)
    traced = trace_continuation(loaded, "The dog", settings, limit=6)
    trace, written = traced.trace, len(traced.ranks)
    before = header["before"]
    assert before == len(traced.translation.beginning) and header["source"] == [] and header["noun"] == "continuation"
    assert [step["id"] for step in header["steps"]] == [token.id for token in traced.translation.tokens]
    assert [step["rank"] for step in header["steps"]] == traced.ranks.tolist()
    assert header["steps"][0]["logProb"] == pytest.approx(float(trace.log_probs[before]), abs=1e-5)
    assert len(header["read"]) == before + written and header["tree"] and header["asked"]["params"]["step"] == 1
    planes = codes.reshape(3 * 4 + 1, written, before + written).astype(float)
    row = trace.decoder[1, 1, before, : before + 1]
    np.testing.assert_allclose(planes[5, 0, : before + 1] / 60_000, row, atol=1e-4)
    second = header["steps"][0]["candidates"][1][0]
    tell(test, node, {"params": {**header["asked"]["params"], "forced": [second], "layer": 2, "head": 3}})
    assert healthy(test) and test.query_params["lm_forced"] == str(second)
    assert (test.query_params["lm_layer"], test.query_params["lm_head"]) == ("3", "4")
    node = next(node for node in test.get("bidi_component") if node.proto.bytes)
    header = unpack(node.proto.bytes)[0]
    assert header["steps"][0]["id"] == second and header["forced"]["count"] == 1
    assert header["asked"]["params"]["forced"] == [], "the browser has it already"
    tell(test, node, {"params": {**header["asked"]["params"], "head": 1, "request": header["asked"]["number"] - 1}})
    node = next(node for node in test.get("bidi_component") if node.proto.bytes)
    again = unpack(node.proto.bytes)[0]["asked"]
    assert again["number"] > header["asked"]["number"] and again["params"]["head"] == 1, "it would show another"
    submit(test, "Another", "beginning")
    assert healthy(test) and "lm_forced" not in test.query_params, "what was forced belongs to its beginning"
