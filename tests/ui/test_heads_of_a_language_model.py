"""Tests "Compare heads" and "Inside a layer" without a browser, with a language model that has random weights."""

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.compare_heads.all_heads import head_table
from pages.ui.inside_a_layer.stages import SECTIONS_OF_ONE_STACK
from pages.ui.language_model.subject import PAIRS
from pages.ui.params.language_model import BEGINNING, FIRST, SECOND
from pages.ui.params.pages import PAGES
from tests.ui import driver
from tests.ui.driver import (
    chooser,
    expand,
    figures,
    headers,
    healthy,
    messages,
    same_numbers,
    send,
    submit,
    texts,
    typed,
)
from transformer.analysis.heads.metrics import head_metrics
from transformer.analysis.replay.cell import cell
from transformer.analysis.replay.stages import stages
from transformer.analysis.view import view_of
from transformer.checkpoints.available_models import FOLDER_VARIABLE
from transformer.checkpoints.checkpoint import LanguageModel, load_language_model
from transformer.language_modelling.tracing import trace_continuation, trace_text
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.trace import Trace

COMPARE, INSIDE, PAGE = "pages/compare_heads.py", "pages/inside_a_layer.py", "pages/language_model.py"
PLACES = [
    *((COMPARE, {"compare_part": part}) for part in PAGES["compare_heads"].parts),
    *((INSIDE, {"inside_part": part}) for part in PAGES["inside_a_layer"].parts),
]
# Numbers of Plotly and Altair charts, by part of a page.
FIGURES = {
    "heads": (0, 1),
    "similarity": (0, 2),
    "two_heads": (0, 0),
    "layers": (0, 3),
    "models": (0, 0),
    "stages": (0, 0),
    "cell": (2, 2),
    "example": (0, 0),
    "mask": (0, 5),
    "norm": (0, 3),
    "parameters": (1, 0),
}
FOREIGN = re.compile(r"\b(english|german|translat(e|es|ed|ion|ions)|encoders?|decoders?)\b", re.IGNORECASE)


@pytest.fixture(scope="session")
def loaded(tiny_language_model: Path) -> LanguageModel:
    return load_language_model(tiny_language_model, "cpu")


@pytest.fixture(scope="session")
def trace(loaded: LanguageModel) -> Trace:
    return trace_continuation(loaded, "The dog", DecodingSettings(), limit=6).trace


@pytest.fixture(autouse=True)
def installed_language_model(monkeypatch: pytest.MonkeyPatch, tiny_language_model: Path) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tiny_language_model.parent))


def opened(page: str, **address: str) -> AppTest:
    there = {"text": "Hello.", "subject": "language_model", "lm_model": "tiny", "lm_text": "The dog", "lm_length": "6"}
    return driver.opened(page, **{**there, **address})


def sent(test: AppTest, key: str) -> list[dict]:
    """Return the component messages that contain the given key."""
    return [data for _, data in messages(test, key)]


def words(test: AppTest) -> str:
    """Return all text on the page, including the labels of widgets."""
    widgets = [
        *test.selectbox,
        *test.button,
        *test.segmented_control,
        *test.toggle,
        *test.text_input,
        *test.number_input,
        *test.expander,
    ]
    options = [option for each in (*test.selectbox, *test.segmented_control) for option in each.options]
    drawn = [node.proto.alt for kind in ("plotly_chart", "vega_lite_chart") for node in test.get(kind)]
    charts = [node.proto.spec for kind in ("plotly_chart", "vega_lite_chart") for node in test.get(kind)]
    tables = [str(name) for node in expand(test).dataframe for name in node.value.columns]
    boxes = [f"{data['label']} {data['placeholder']}" for data in sent(test, "placeholder")]
    return "\n".join(
        [
            texts(test),
            *(each.label for each in widgets),
            *(each.help or "" for each in widgets if hasattr(each, "help")),
            *options,
            *drawn,
            *charts,
            *tables,
            *boxes,
            *(data["title"] for data in sent(test, "sentence")),
            *(str(side["title"]) for data in sent(test, "sides") for side in data["sides"]),
            *(str(data["columns"]) for data in sent(test, "columns")),
        ]
    )


@pytest.mark.parametrize(("page", "address"), PLACES, ids=str)
def test_pages_about_a_language_model_show_figures_and_mention_no_translation(trace, page, address):
    test = opened(page, **address)
    assert healthy(test)
    assert figures(test) == FIGURES[next(iter(address.values()))]
    found = FOREIGN.search(words(test))
    assert found is None, words(test)[max(0, found.start() - 80) : found.end() + 80]
    for data in sent(test, "sentence"):
        assert data["sentence"] in ("", f"Text: {trace.target_text}") or data["file"] == "two-heads"


def test_table_contains_every_metric_of_every_head(loaded, trace):
    test = opened(COMPARE)
    scores = [-float(number) for number in range(loaded.tokenizer.size)]
    metrics = head_metrics(trace, "decoder", scores)
    expected = head_table({"decoder": metrics}, None)
    (table,) = sent(test, "columns")
    assert len(table["rows"]) == 3 * 4
    entropy = [row["values"][table["columns"].index(["entropy", ""])] for row in table["rows"]]
    assert entropy == pytest.approx(list(expected["entropy"]))
    names = test.selectbox("compare_metric").options
    assert "Colour by entropy" in names and not [name for name in names if "aligns" in name or "end symbol" in name]


def test_named_head_links_to_its_map_on_the_language_model_page(trace):
    test = opened(COMPARE, compare_part="layers", lm_part="likely")
    ((node, _),) = messages(test, "parts")
    send(test, node, "open", {"kind": "decoder", "layer": 1, "head": 2})
    assert healthy(test) and headers(test)[0]["texts"]["target"] == trace.target_text
    assert [test.query_params[name] for name in ("lm_layer", "lm_head")] == ["2", "3"]
    assert "layer" not in test.query_params, "the translator's head is another one"


def test_two_heads_section_compares_two_texts_of_the_language_model(loaded):
    test = opened(COMPARE, compare_part="two_heads", compare_a="cross.2.2.words.Mine.")
    assert [test.text_input(f"compare_{name}_text").value for name in ("text_a", "text_b")] == [FIRST, SECOND]
    test.selectbox("compare_text_a_layer").set_value(1).run()
    test.text_input("compare_text_a_text").set_value("The dog sits on the mat.").run()
    assert healthy(test)
    head = test.selectbox("compare_text_a_head").value
    assert re.fullmatch(r"decoder\.2\.\d\.words\.The dog sits on the mat\.", test.query_params["compare_text_a"])
    assert test.query_params["compare_a"] == "cross.2.2.words.Mine.", "the translator's pins are others"
    (data,) = sent(test, "sides")
    view = view_of(trace_text(loaded, "The dog sits on the mat.")[1], "decoder", words=True)
    assert data["sides"][0]["values"] == pytest.approx(view.weights[1, head].ravel(), abs=1e-4)
    test.button("compare_pair_1").click().run()
    assert healthy(test) and test.text_input("compare_text_b_text").value == PAIRS[1].b
    test.button("compare_mine").click().run()
    assert healthy(test) and test.text_input("compare_text_b_text").value == "The dog"
    test.text_input("compare_text_b_text").set_value("dog " * 500).run()
    assert healthy(test, warned=True) and "shorten the text" in test.warning[0].value


@pytest.mark.thorough
def test_difference_map_labels_show_both_tokens_where_two_texts_differ():
    (data,) = sent(opened(COMPARE, compare_part="two_heads", lm_model=""), "sides")
    rows = data["sides"][2]["rows"]
    assert rows[1] == "in: The → out: cat / mat" and rows[2] == "in: cat / mat → out: sits"


def test_every_computation_stage_shows_the_values_of_its_tensor(loaded, trace):
    listed = stages(trace, loaded.weights(), decoder_layer=1, head=2)
    test = opened(INSIDE, lm_layer="2", lm_head="3", inside_stage=listed[-5].key)
    (drawing,) = sent(test, "stages")
    assert list(drawing["stages"]) == list(SECTIONS_OF_ONE_STACK) and drawing["here"] == "decoder.feed_forward."
    for number in range(len(listed) - 5, len(listed)):
        stage = listed[number]
        assert healthy(test) and f"{number + 1} of {len(listed)}: {stage.name}" in texts(test)
        assert f"[{stage.letters}] = {list(stage.array.shape)}" in texts(test)
        if stage.letters.endswith(("D", "F")):
            shown = next(each.value for each in expand(test).dataframe).iloc[:, 1:].to_numpy()
            same_numbers(shown, stage.array[0])
        if number < len(listed) - 1:
            test.button("inside_Next").click().run()
            assert test.query_params["inside_stage"] == listed[number + 1].key
    test.selectbox("inside_layer").set_value(2).run()
    assert healthy(test) and test.query_params["lm_layer"] == "3" and "layer" not in test.query_params


def test_chosen_cell_is_stored_in_the_url(loaded, trace):
    test = opened(INSIDE, inside_part="cell", inside_kind="cross", lm_layer="2", lm_head="3")
    chooser(test, "inside_rows").set_value(4).run()
    chooser(test, "inside_columns").set_value(1).run()
    assert healthy(test)
    assert [test.query_params[name] for name in ("lm_rows", "lm_columns")] == ["4", "1"]
    found = cell(trace, loaded.weights(), "decoder", 1, 2, 4, 1)
    assert [metric.value for metric in test.metric][3] == f"{found.weight:.4f}"
    again = opened(INSIDE, **{name: value for name, value in test.query_params.items() if name != "text"})
    assert texts(again) == texts(test), "a link shows the same"


@pytest.mark.thorough
def test_chosen_model_persists_across_pages():
    test = driver.opened(COMPARE, text="Hello.", target="Hallo.")
    assert healthy(test) and typed(test) == "Hello." and figures(test) == (0, 3)
    test.selectbox("compare_subject").set_value("tiny").run()
    assert healthy(test) and typed(test, "beginning") == BEGINNING and figures(test) == (0, 1)
    assert (test.query_params["subject"], test.query_params["lm_model"]) == ("language_model", "tiny")
    submit(test, "My sister", "beginning")
    test.switch_page(INSIDE).run()
    assert healthy(test) and typed(test, "beginning") == "My sister" and "of 25" in texts(test)
    test.selectbox("inside_subject").set_value("").run()
    assert healthy(test) and typed(test) == "Hello." and "of 61" in texts(test)
    assert "subject" not in test.query_params and test.query_params["target"] == "Hallo."


@pytest.mark.parametrize(("button", "page"), [("compare_heads", COMPARE), ("inside_a_layer", INSIDE)])
def test_language_model_page_links_to_the_pages_about_its_heads(button, page):
    test = driver.opened(PAGE, text="Hello.", lm_model="tiny", lm_text="The dog")
    test.button(f"lm_{button}").click().run()
    test.switch_page(page).run()
    assert healthy(test) and test.query_params["subject"] == "language_model"
    assert typed(test, "beginning") == "The dog" and not headers(test)


def test_missing_language_model_is_reported_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setattr("transformer.checkpoints.available_models.LANGUAGE_MODEL", tmp_path / "none")
    test = opened(COMPARE)
    assert not test.exception and "no language model" in test.info[0].value
    test.selectbox("compare_subject").set_value("").run()
    assert healthy(test) and typed(test) == "Hello."
