import json

import pytest

from pages.ui.params.state import EXAMPLES
from tests.ui.driver import healthy, messages, opened, send, texts
from transformer.experiments.experiment import Experiment

PAGE = "pages/patch.py"


def plain(test):
    return texts(test).replace("\\", "").replace("−", "-")


def choose(test, label, value):
    box = next(each for each in test.selectbox if each.label == label)
    box.select(value).run()


@pytest.mark.thorough(seconds=10)
def test_patch_page_opens_with_a_question_and_states_the_effect(shipped):
    """The page opens at a step where the two sentences differ clearly. At the step that writes "es", computing the
    effect would mean dividing by almost zero.
    """
    test = opened(PAGE, text=EXAMPLES[0])
    assert healthy(test) and "With A, the model prefers **müde** to **breit** by " in plain(test)
    assert "and with B **breit** to **müde** by " in plain(test) and "translates the changed word itself" in plain(test)
    assert "Is the value needed? (noising)**" in plain(test) and "Effect **0.99**: A's choice comes back" in plain(test)
    # Patching depth 0 at the changed word always has an effect of 1, so the page opens at depth 1.
    assert "residual stream, depth 1, " in plain(test)
    choose(test, "Decoding step", 9)
    assert healthy(test) and "prefers **es** to **sie** by 2.92 nats, and with B by 3.08" in plain(test)
    assert "which is itself a result" in plain(test) and "Too small to interpret" in plain(test)
    assert "differ by only 0.16 nats here" in plain(test) and "*it* becomes **es** in both sentences" in plain(test)
    assert "no relative effect is shown" in plain(test) and "Effect **" not in plain(test)
    assert test.query_params["patch_step"] == "9"
    # *How it came about* and *What mattered* use the step and the second token that are chosen on this page.
    assert test.query_params["graph_position"] == test.query_params["mattered_explained"] == "9"
    other = shipped.trace(EXAMPLES[0]).candidate_ids[8, 2]
    choose(test, "Second token", int(other))
    assert healthy(test)
    assert test.query_params["graph_against"] == test.query_params["mattered_against"] == str(other)
    # The page suggests no other step: A and B differ more only at the step that translates the changed word.
    assert not [each for each in test.button if each.key == "patch_most"]
    # Then patch in the other direction, and patch a head.
    test.query_params.clear()
    test = opened(PAGE, text=EXAMPLES[0], patch_direction="enough", patch_site="cross.outputs", patch_layer="4")
    assert healthy(test) and "Run of B, with cross-attention: heads' outputs, layer 4, head 1 taken from A" in plain(
        test
    )


def test_verifying_an_experiment_recomputes_it_and_names_differences():
    test = opened(PAGE, text="The doctor lost her keys.", patch_other="The doctor lost his keys.")
    test.button(key="patch_check").click().run()
    assert healthy(test) and "recomputed results match to within" in test.success[0].value
    carried = next(data["experiment"] for _, data in messages(test, "experiment") if data["file"] == "patch-next")
    opener, _ = messages(test, "mark")[0]
    send(test, opener, "opened", carried)
    assert healthy(test) and "recomputed results match to within" in test.success[0].value
    saved = json.loads(Experiment.read(carried.encode()).to_json())
    saved["parts"][0]["claims"]["effect"]["value"] = [0.25]
    send(test, opener, "opened", json.dumps(saved))
    assert "needed, effect, number 1: claimed 0.25, measured 0.99" in test.error[0].value.replace("\\", "")
    for content, says in (
        (json.dumps({**saved, "model": "abc"}), "made with the model en-de (abc)"),
        (json.dumps({**saved, "experiment": 9}), "update Attention Atlas"),
        ("<b>no</b>", "contains no experiment"),
    ):
        send(test, opener, "opened", content)
        assert healthy(test, warned=True) and says in test.warning[0].value.replace("\\", "")


def test_patch_kept_by_the_user_is_applied_together_with_the_next_patch():
    """Invalid kept patches in the URL are ignored."""
    address = {"text": "The doctor lost her keys.", "patch_other": "The doctor lost his keys.", "patch_layer": "6"}
    test = opened(PAGE, **address, patch_at="2", patch_kept="x,encoder.residual.99~9,encoder.residual.6~99")
    assert healthy(test) and "kept value" not in plain(test)
    next(each for each in test.button if each.label == "Keep this patch").click().run()
    choose(test, "Token", 3)
    assert healthy(test) and "“her / his”, and 1 kept value taken from B" in plain(test)
    next(each for each in test.button if each.label == "Drop kept patches").click().run()
    assert healthy(test) and "kept value" not in plain(test) and "patch_kept" not in test.query_params


def test_dropping_one_cell_on_another_sets_the_patch_and_invalid_drops_are_ignored():
    test = opened(PAGE, text="The doctor lost her keys.", patch_other="The doctor lost his keys.")

    def drop(what):
        send(test, messages(test, "partners")[0][0], "dropped", what)
        assert healthy(test)
        return [test.query_params.get(f"patch_{name}") for name in ("direction", "layer", "at", "partner")]

    assert drop({"run": 0, "row": 2, "column": 3, "onto": 2}) == ["enough", "3", "4", "3"]
    assert "Run of B, with encoder: residual stream, depth 2, " in plain(test)
    for invalid in (
        None,
        "0",
        {"run": 0},
        {"run": 2, "row": 0, "column": 0, "onto": 0},
        {"run": 1, "row": 7, "column": 0, "onto": 0},
    ):
        assert drop(invalid) == ["enough", "3", "4", "3"]
    # The URL omits the default direction, so it is None here.
    assert drop({"run": 1, "row": 4, "column": 1, "onto": 0}) == [None, "5", "1", "2"]
    assert "Run of A, with encoder: residual stream, depth 4, " in plain(test)


def test_page_asks_for_a_changed_word_if_there_is_no_second_sentence():
    test = opened(PAGE, text="My sister bought a car.")
    assert healthy(test) and "Change one word of B and press Enter" in test.info[0].value
    asked = next(data for _, data in messages(test, "label") if data["label"].startswith("Sentence B"))
    assert asked["text"] == "My sister bought a car."
    assert "Or drag a cell" not in plain(test) and not any(each.label == "Is the value …" for each in test.selectbox)
    assert not opened(PAGE, text=EXAMPLES[0]).info
