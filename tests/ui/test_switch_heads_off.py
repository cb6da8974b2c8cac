import numpy as np
import pytest

from attention_atlas.browser.labels import TITLES
from pages.ui.state.session import EXAMPLES
from pages.ui.text.number_format import typeset
from tests.ui.driver import DREAM, GIVEN, expand, figures, healthy, messages, opened, send, submit, table, texts
from transformer.ablation.effect import effect_of
from transformer.values.interventions import Interventions, parse_head

PAGE = "pages/switch_heads_off.py"


def switches(test):
    """Return the switchboard component and its message."""
    (found,) = messages(test, "boards")
    return found


def test_url_sets_the_switched_off_heads_and_clicking_a_switch_changes_them(shipped):
    test = opened(PAGE, text=DREAM, off_heads="cross.1.8-encoder.3.1")
    assert healthy(test) and figures(test) == (0, 2)
    node, sent = switches(test)
    assert sent["off"] == "cross.1.8-encoder.3.1" and sent["changed"] == "off"
    assert [(board["kind"], board["layers"], board["heads"]) for board in sent["boards"]] == [
        ("encoder", 6, 8),
        ("decoder", 6, 8),
        ("cross", 6, 8),
    ]
    off = Interventions(gates={parse_head(name): 0.0 for name in ("cross.1.8", "encoder.3.1")})
    numbers = table(test, "change", "kl")
    scores = shipped.score(DREAM, None, [off])
    assert numbers["change"].tolist() == pytest.approx((scores.log_probs[0] - scores.baseline).tolist(), abs=1e-4)
    assert numbers["kl"].tolist() == pytest.approx(scores.kl[0].tolist(), abs=1e-4)
    assert "Save as NPZ (every head)" in {each.proto.label for each in test.get("download_button")}
    assert shipped.translate(DREAM, interventions=off).text.rstrip(".") in texts(test).replace("\\", "")
    send(test, node, "switched", "encoder.1.2")
    assert healthy(test) and test.query_params["off_heads"] in ("encoder.1.2", ["encoder.1.2"])
    send(test, switches(test)[0], "switched", "none")
    assert healthy(test) and "All heads are on" in texts(test) and figures(test) == (0, 0)


@pytest.mark.parametrize("value", ["99999", "cross.7.1"])
def test_invalid_url_values_switch_no_head_off(value):
    test = opened(PAGE, text=DREAM, off_heads=value, off_gate=value, off_mode=value, off_importance=value)
    assert healthy(test)
    # The URL value names no head of this model.
    assert switches(test)[1]["off"] == "none"


def test_page_opens_with_all_heads_on_and_offers_a_head_that_changes_the_translation():
    test = opened(PAGE, text=EXAMPLES[0])
    assert healthy(test) and switches(test)[1]["off"] == "none" and "All heads are on" in texts(test)
    offer = test.button(key="off_try")
    assert offer.label == "Try: switch off cross attention, layer 5, head 6"
    offer.click().run()
    assert healthy(test) and test.query_params["off_heads"] in ("cross.5.6", ["cross.5.6"])
    assert "This is the example, not your choice" in texts(test) and "the translation differs" in texts(test)
    test.button(key="off_clear").click().run()
    assert healthy(test) and switches(test)[1]["off"] == "none" and not test.query_params.get("off_heads")
    # A user's own choice is not labelled as the example.
    send(test, switches(test)[0], "switched", "encoder.1.2")
    assert healthy(test) and "the example" not in texts(test)


def test_invalid_switch_messages_are_ignored():
    test = opened(PAGE, text=DREAM, off_heads="cross.1.8")
    for value in (None, 5, ["cross.1.1"], {"cross": 1}, "x" * 10_000):
        send(test, switches(test)[0], "switched", value)
        assert healthy(test) and switches(test)[1]["off"] == "cross.1.8", value


def test_switched_off_heads_use_the_chosen_replacement_and_gate(shipped):
    test = opened(PAGE, text=DREAM, off_heads="cross.6.5", off_mode="uniform", off_gate="2.0")
    # Attention cannot be more even than uniform, so the gate is limited to 1.
    assert healthy(test) and switches(test)[1]["changed"] == "set to a gate of 1"
    test = opened(PAGE, text=DREAM, off_heads="cross.6.5", off_mode="mean", off_gate="0.5")
    assert healthy(test) and "head 5 set to 0.5" in texts(test)
    off = Interventions(gates={("cross", 5, 4): 0.5}, mode="mean")
    change = float(shipped.score(DREAM, None, [off]).change[0])
    assert table(test, "change", "kl")["change"].sum() == pytest.approx(change, abs=1e-4)


@pytest.mark.thorough
def test_resampling_replaces_a_head_with_its_output_for_other_sentences(shipped):
    test = opened(PAGE, text=DREAM, off_heads="cross.6.5", off_mode="resample", off_seed="2")
    assert healthy(test) and figures(test) == (0, 2)
    off = Interventions({("cross", 5, 4): 0.0}, "resample", seed=2)
    effect = effect_of(shipped, DREAM, off)
    assert f"{effect.unchanged} of 8 draws" in texts(test) and typeset(effect.change, "+.2f") in texts(test)
    assert table(test, "draw", "change")["translation"].tolist() == list(effect.translations)
    assert table(test, "change", "kl")["change"].tolist() == pytest.approx(effect.step_change.tolist(), abs=1e-4)
    test.number_input("off_seed").set_value(3).run()
    assert healthy(test) and test.query_params["off_seed"] in ("3", ["3"])
    assert table(test, "draw", "change")["change"].tolist() != pytest.approx(effect.scores.change.tolist(), abs=1e-6)


def measured_worst(numbers):
    """Return the kind, 0-based layer and 0-based index of the head whose removal lowers the log-probability most."""
    row = numbers.loc[numbers["measured"].idxmin()]
    (kind,) = (kind for kind, title in TITLES.items() if title == row["kind"])
    return kind, int(row["layer"]) - 1, int(row["head"]) - 1


def test_importance_of_every_head_is_measured_on_demand(shipped):
    test = opened(PAGE, text=DREAM)
    # The button at the top of the page opens a section far below.
    next(button for button in test.button if button.label == "What is each head worth?").click().run()
    assert test.toggle("off_importance").value
    assert healthy(test) and figures(test) == (0, 6)
    numbers = table(test, "measured", "estimated")
    assert len(numbers) == 144
    row = numbers[(numbers["kind"] == "Cross attention") & (numbers["layer"] == 6) & (numbers["head"] == 5)].iloc[0]
    alone = shipped.score(DREAM, None, [Interventions(gates={("cross", 5, 4): 0.0})])
    assert row["measured"] == pytest.approx(float(alone.change[0]), abs=1e-4)
    said = texts(test)
    assert "Spearman" in said and "(144 heads, this sentence)" in said
    assert any("head_importance(" in block.value for block in expand(test).code)
    assert f"{(numbers['measured'] > 0).sum()} of 144" in said
    head = measured_worst(numbers)
    changed = shipped.translate(DREAM, interventions=Interventions({head: 0.0})).text != shipped.translate(DREAM).text
    assert ("nats, and the model writes" in said) == changed != ("still writes the same translation" in said)
    submit(test, "A dog.")
    assert healthy(test) and figures(test) == (0, 0), "another sentence is measured when somebody asks"


# This test is marked as thorough, because the shipped model takes ten times as long as the narrow model.
@pytest.mark.thorough
def test_heads_are_removed_one_after_another_on_demand_and_the_scores_are_charted(shipped):
    test = opened(PAGE, text="A dog.", off_removal="true")
    # The charts show this sentence's log-probability, and BLEU and chrF over many sentences.
    assert healthy(test) and figures(test) == (0, 3)
    numbers = table(test, "last removed", "log-probability")
    assert len(numbers) == 5 * 145
    trained = float(shipped.trace("A dog.").log_probs.sum())
    first = numbers[numbers["removed"] == 0]["log-probability"]
    assert first.tolist() == pytest.approx([trained] * 5, abs=1e-3)
    assert numbers[numbers["removed"] == 144]["log-probability"].nunique() <= 5
    assert "of 144** heads can go" in texts(test) and "Over 500 sentences" in texts(test)
    submit(test, "A cat.")
    assert healthy(test) and figures(test) == (0, 0), "another sentence is measured when somebody asks"


@pytest.mark.thorough
def test_heads_are_measured_only_on_demand_for_a_long_sentence(narrow_app):
    test = opened(PAGE, text="The old man gave his dog a bone yesterday. " * 5, **GIVEN, off_heads="cross.1.8")
    assert healthy(test) and figures(test) == (0, 2)
    assert not test.toggle("off_importance").value


def test_page_scores_the_user_translation(shipped):
    test = opened(PAGE, text=DREAM, target="Ich träume.", off_heads="cross.1.8")
    assert healthy(test) and "Your own translation" in texts(test)
    off = Interventions(gates={("cross", 0, 7): 0.0})
    scores = shipped.score(DREAM, "Ich träume.", [off])
    assert table(test, "change", "kl")["after"].tolist() == pytest.approx(scores.log_probs[0].tolist(), abs=1e-4)


@pytest.mark.thorough
def test_page_with_a_long_sentence_sends_less_than_three_megabytes(narrow_app):
    """Adds up the message sizes of one script run. The pictures on the switches take one byte per pixel, and the maps
    before and after switching heads off take 16 bits per weight.
    """
    words = np.random.default_rng(5).choice(["the", "old", "dog", "sees", "a", "red", "house", "and", "cat"], 117)
    test = opened(PAGE, text=f"{' '.join(words)}.", target="Der alte Hund sieht. " * 20, off_heads="cross.1.8")
    assert healthy(test)
    sizes = {node.proto.component_name: node.proto.ByteSize() for node in test.get("bidi_component")}
    assert sizes["head_switches"] < 1_000_000 and sum(sizes.values()) < 3_000_000, sizes
