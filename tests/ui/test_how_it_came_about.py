import pytest

from tests.ui.driver import expand, healthy, opened, same_numbers, submit, table, texts
from transformer.attribution.attribution import Target
from transformer.attribution.frozen_layers import FrozenRun
from transformer.attribution.graph import attribution_graph, prune, runner_up
from transformer.attribution.paths import path_effects

PAGE = "pages/how_it_came_about.py"
DREAM = "I have a dream."


def test_displayed_path_effects_match_the_library(shipped):
    test = opened(PAGE, text=DREAM, graph_position="4", graph_most="12", graph_cut="true", graph_every="true")
    assert healthy(test) and "“Traum” and not “" in texts(test)
    trace = shipped.trace(DREAM, details=True)
    run, target = FrozenRun(trace, shipped.weights()), Target((3,), (runner_up(trace, 3),))
    graph = attribution_graph(run, target)
    drawn = prune(graph, 12)
    edges = list(drawn.edges)
    shown = table(test, "from", "to", "adds, predicted", "adds, measured")
    # Edges from bias nodes come last, and are never left out.
    cut, biases = shown.iloc[: len(edges)], shown.iloc[len(edges) :]
    same_numbers(cut["adds, predicted"], graph.edges[edges])
    same_numbers(cut["adds, measured"], path_effects(run, target, graph.paths(edges)))
    same_numbers(biases["adds, predicted"], graph.biases[list(drawn.biased)])
    assert biases["from"].str.startswith("biases of the ").all() and biases["adds, measured"].isna().all()
    worst = abs(cut["adds, predicted"] - cut["adds, measured"]).idxmax()
    assert f"measured **{cut['adds, measured'][worst]:+.2f}**" in texts(test).replace("−", "-")
    nodes = table(expand(test), "node", "from nodes", "from biases", "sum")
    same_numbers(nodes["sum"], nodes.value)
    assert "You may conclude" in texts(test) and "Measured:" in texts(test)


@pytest.mark.thorough
def test_listed_parts_of_an_attention_score_add_up_to_the_score(shipped):
    test = opened(
        PAGE,
        text=DREAM,
        graph_part="score",
        graph_kind="cross",
        graph_layer="4",
        graph_head="2",
        graph_query="4",
        graph_key="4",
    )
    # The link to the head pins the query's row. `graph_query` counts from 1, but `cross_rows` from 0.
    assert "cross_rows=3" in texts(test)
    score = float(shipped.trace(DREAM, details=True).detail("cross", "scores")[3, 1, 3, 3])
    assert healthy(test)
    assert table(expand(test), "query", "key")["part of the score"].sum() == pytest.approx(score, abs=1e-3)


@pytest.mark.thorough
def test_attribution_graph_is_shown_for_a_language_model():
    test = opened(PAGE, subject="language_model")
    assert healthy(test) and "The logit difference" in texts(test) and "but only for translators" in texts(test)


@pytest.mark.thorough
def test_invalid_numbers_in_the_url_fall_back_to_defaults():
    test = opened(PAGE, text=DREAM, graph_position="9999", graph_path="9999", graph_against="1", graph_most="x")
    assert healthy(test)


def test_explained_token_stays_selected_if_the_translation_of_a_new_sentence_contains_it(shipped):
    test = opened(PAGE, text="Tom has a small dog.", graph_position="1")
    submit(test, "Today Tom has a big dog.")
    assert shipped.trace("Today Tom has a big dog.").predicted_tokens[2].text == "▁Tom"
    assert healthy(test) and test.button_group("graph_token").value == 2
    assert test.query_params["graph_position"] == test.query_params["mattered_explained"] == "3"
    submit(test, "She sleeps.")
    assert healthy(test) and "graph_position" not in test.query_params
