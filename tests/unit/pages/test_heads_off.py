import copy
from dataclasses import replace

import numpy as np
import pytest

from pages.ui.params.switch_heads_off import NONE, HeadSet, OffParams
from pages.ui.switch_heads_off.effect import (
    changed_heads,
    describe_effect,
    draw_table,
    marked_words,
    step_chart,
    step_table,
)
from pages.ui.switch_heads_off.importance import (
    describe_correlation,
    describe_importance,
    describe_translation,
    importance_table,
)
from pages.ui.switch_heads_off.removal import (
    GRADIENT,
    MEASURED,
    describe_origin,
    describe_quality,
    describe_removal,
    quality_table,
    removable_steps,
    removal_chart,
    removal_table,
)
from pages.ui.switch_heads_off.switches import picture
from pages.ui.text.number_format import typeset
from transformer.ablation.effect import effect_of
from transformer.ablation.estimate import mean_over_draws
from transformer.ablation.importance import head_importance
from transformer.ablation.removal import RemovalCurve
from transformer.measurements.removal import Quality, RemovalQuality
from transformer.values.head_means import HeadMeans
from transformer.values.interventions import DEFAULT_DRAWS, Interventions, all_heads

TEXT = "The old man reads a book."


def test_url_restores_the_switched_off_heads():
    params = OffParams(HeadSet((("cross", 0, 7), ("encoder", 2, 0))), 0.5, "mean", importance=True, removal=True)
    assert params.to_address() == {
        "off_heads": "cross.1.8-encoder.3.1",
        "off_gate": "0.5",
        "off_mode": "mean",
        "off_importance": "true",
        "off_removal": "true",
    }
    assert OffParams.from_address(params.to_address()) == params
    assert OffParams.from_address({"off_heads": "encoder.3.1-cross.1.8-cross.1.8"}).heads == params.heads
    drawn = OffParams(mode="resample", draws=16, seed=42)
    assert drawn.to_address() == {"off_mode": "resample", "off_draws": "16", "off_seed": "42"}
    assert OffParams.from_address(drawn.to_address()) == drawn and drawn.drawn == {"seed": 42, "draws": 16}
    assert OffParams().to_address() == {} and OffParams.from_address({"off_heads": NONE}) == OffParams()


@pytest.mark.parametrize(
    "value",
    [
        "cross.0.1",
        "cross.01.1",
        "Cross.1.1",
        "cross.1",
        "cross.1.1-",
        "cross.1.²",
        "none-none",
        "cross.1.1 ",
        "cross.100.1",
    ],
)
def test_invalid_head_list_in_a_url_switches_no_head_off(value):
    assert OffParams.from_address({"off_heads": value}).heads == HeadSet(())


@pytest.mark.parametrize("value", ["7", "65"])
def test_number_of_draws_out_of_range_falls_back_to_the_default(value):
    assert OffParams.from_address({"off_mode": "resample", "off_draws": value}).draws == DEFAULT_DRAWS


def test_all_heads_of_the_model_fit_in_a_url(small_config):
    everything = HeadSet(
        tuple(
            (kind, layer, head) for kind in ("encoder", "decoder", "cross") for layer in range(6) for head in range(8)
        )
    )
    assert len(str(everything)) < 2000
    params = OffParams(everything, gate=2.0, mode="uniform")
    found = params.interventions(small_config)
    assert not list(found.head_gates()), "a gate of 1 changes nothing, and weights cannot be more than even"
    off = OffParams(everything).interventions(small_config)
    assert {head for head, _ in off.head_gates()} == set(all_heads(small_config))


def test_thumbnail_image_has_one_block_per_head():
    weights = np.arange(2 * 3 * 4 * 5.0).reshape(2, 3, 4, 5)
    mask = np.ones((4, 5), dtype=bool)
    mask[0, 4] = False
    found = picture(weights, mask)
    assert found.shape == (8, 15)
    part = found[4:8, 10:15]
    np.testing.assert_array_equal(part[mask], weights[1, 2][mask])
    assert np.isnan(part[0, 4]) and np.isnan(found).sum() == 6


def test_changed_words_are_marked_and_markup_is_escaped():
    old, new = marked_words("Das Tier *überquerte* nicht", "Das Tier ging nicht mehr")
    assert old == r"Das Tier :orange-background[**\*überquerte\***] nicht"
    assert new == "Das Tier :orange-background[**ging**] nicht :orange-background[**mehr**]"
    old, new = marked_words("die Straße nicht, weil", "die Straße, weil")
    assert old == r"die Straße :orange-background[**nicht**]\, weil" and new == r"die Straße\, weil"
    assert marked_words("a b", "a b") == ("a b", "a b") and marked_words("", "x")[0] == ""


def test_caption_names_the_heads_that_are_off():
    def named(*heads, **options):
        return changed_heads(Interventions(gates=dict.fromkeys(heads, options.pop("gate", 0.0)), **options))

    one, two = ("cross", 0, 7), ("encoder", 1, 1)
    assert named(one) == "without cross attention, layer 1, head 8"
    assert named(one, two) == "without 2 heads"
    assert named(one, mode="mean") == "with cross attention, layer 1, head 8 replaced by its mean output"
    assert named(one, two, mode="mean") == "with 2 heads replaced by their mean outputs"
    assert named(one, mode="uniform") == "with cross attention, layer 1, head 8 attending equally to all visible tokens"
    for_another = "cross attention, layer 1, head 8 replaced by its output for another sentence"
    assert named(one, mode="resample") == f"with {for_another}"
    assert named(one, two, mode="resample") == "with 2 heads replaced by their outputs for another sentence"
    assert named(one, gate=1.5) == "with the gate of cross attention, layer 1, head 8 set to 1.5"
    assert named(one, two, gate=1.5) == "with the gates of 2 heads set to 1.5"


def test_caption_states_the_measured_effect(small_translator):
    off = Interventions(gates={head: 0.0 for head in all_heads(small_translator.config) if head[0] == "cross"})
    effect = effect_of(small_translator, TEXT, off)
    table = step_table(effect)
    assert table["change"].sum() == pytest.approx(effect.change, abs=1e-5)
    assert (table["after"] - table["before"] - table["change"]).abs().max() < 1e-6
    says = describe_effect(effect, off, given=False)
    if effect.first_difference is not None:
        assert f"from token {effect.first_difference + 1} on" in says
    else:
        assert "the same translation" in says
    assert typeset(effect.change, "+.2f") in says
    worst = int(np.abs(effect.step_change).argmax())
    assert f"token {worst + 1}, “" in says
    given = describe_effect(effect, off, given=True)
    assert "Your own translation" in given and "from token" not in given


def test_resample_ablation_caption_and_tables_state_the_measured_effect(small_translator):
    drawing = copy.copy(small_translator)
    traces = (small_translator.trace(text, "Ein Hund.", details=True) for text in ("I have a dream.", "A dog."))
    drawing.means = HeadMeans.over(traces, small_translator.version, "made up")
    off = Interventions({("cross", 0, 1): 0.0, ("encoder", 0, 2): 0.0}, "resample", seed=3)
    effect = effect_of(drawing, TEXT, off, draws=4)
    says, change = describe_effect(effect, off, given=False), mean_over_draws(effect.scores.change)
    assert f"same translation in **{effect.unchanged} of 4 draws**. On average, the original translation" in says
    assert f"{effect.change:+.2f} nats; 95% interval {change.low:+.2f} to {change.high:+.2f}, seed 3)" in says
    table, draws = step_table(effect), draw_table(effect)
    assert table["change"].sum() == pytest.approx(draws["change"].mean(), abs=1e-5) and len(draws) == 4
    assert (table["low"] <= table["change"]).all() and (table["change"] <= table["high"]).all()
    assert draws["translation"].tolist() == list(effect.translations)
    assert set(draws["other sentence"]) == {"I have a dream.", "A dog."}, "both are taken in turn"
    assert describe_translation(effect) == f", and the translation stays the same in **{effect.unchanged} of 4 draws**."
    ends = [
        layer
        for layer in step_chart(table, "change", "nats", signed=True, first=None).to_dict()["layer"]
        if layer.get("encoding", {}).get("y2", {}).get("field") == "high"
    ]
    assert len(ends) == 1, "the interval is drawn"
    found = importance_table(head_importance(drawing, TEXT, mode="resample", seed=3, draws=4))
    assert (found["low"] <= found["measured"]).all() and (found["measured"] <= found["high"]).all()


def test_caption_names_the_most_important_head(small_translator):
    found = head_importance(small_translator, TEXT)
    table = importance_table(found)
    assert len(table) == len(all_heads(small_translator.config))
    says = describe_importance(found, small_translator.config)
    worst = table.loc[table["measured"].idxmin()]
    assert f"layer {worst['layer']}, head {worst['head']} most: without this head, the log-prob" in says
    assert f"changes by **{typeset(worst['measured'], '+.2f')}** nats" in says
    assert f"{(table['measured'] > 0).sum()} of {len(table)}" in says and typeset(found.agreement) in says
    assert "nats. Without" in says
    assert "nats, and so on. Without" in describe_importance(found, small_translator.config, then=", and so on.")
    assert [describe_correlation(each) for each in (0.95, 0.8, 0.5, 0.1, -0.9)] == [
        "in almost the same order",
        "in much the same order",
        "in roughly the same order",
        "in a different order",
        "in a different order",
    ]


def test_quoted_translation_is_not_followed_by_a_second_full_stop(shipped):
    off = Interventions({("cross", 4, 5): 0.0})
    written = describe_translation(
        effect_of(shipped, "The animal didn't cross the street because it was too tired.", off)
    )
    assert written.replace("\\", "").endswith("war.”")


HEADS = (("encoder", 0, 0), ("cross", 0, 1), ("decoder", 1, 0))


def test_heads_count_as_removable_up_to_the_first_score_below_the_limit():
    assert removable_steps([1.0, 2.0, 0.9, 3.0], 1.0) == 1
    assert removable_steps([1.0, 1.0, 1.0], 1.0) == 2 and removable_steps([1.0], 1.0) == 0


def test_caption_and_chart_match_the_removal_curves():
    curves = {
        name: RemovalCurve(HEADS, "zero", np.array(values))
        for name, values in (
            (MEASURED, [-4.0, -3.5, -4.6, -9.0]),
            (GRADIENT, [-4.0, -4.2, -5.0, -9.0]),
            ("random order, 1", [-4.0, -6.0, -7.0, -9.0]),
            ("random order, 2", [-4.0, -4.1, -4.1, -9.0]),
        )
    }
    says = describe_removal(curves)
    assert "**2 of 3** heads can go" in says and "In the gradient's order, 1 can go; in 2 random orders, 0 to 2" in says
    assert "most likely without 1 of the heads (its log-probability changes by +0.50 nats)" in says
    table = removal_table(curves)
    assert len(table) == 16 and table["last removed"].tolist()[:4] == ["", "encoder.1.1", "cross.1.2", "decoder.2.1"]
    spec = removal_chart(table.rename(columns={"log-probability": "value"}), "nats").to_dict()
    drawn = list(spec["datasets"].values())
    band = next(rows for rows in drawn if "max" in rows[0])
    assert [(row["min"], row["max"]) for row in band] == [(-4, -4), (-6, -4.1), (-7, -4.1), (-9, -9)]
    lines = next(rows for rows in drawn if "order" in rows[0])
    assert {row["order"] for row in lines} == {MEASURED, GRADIENT}


def test_recorded_scores_after_removing_heads_are_described_and_survive_saving():
    scores = {
        "measured": (30.0, 28.0, 27.0, 1.0),
        "gradient": (30.0, 27.0, 26.9, 1.0),
        "random 0": (30.0, 9.0, 5.0, 1.0),
    }
    points = tuple(
        Quality(order, 8 * at, bleu, bleu + 20) for order, each in scores.items() for at, bleu in enumerate(each)
    )
    recorded = RemovalQuality("m", "zero", "dev.tsv", 50, "d", points)
    assert RemovalQuality.from_json(recorded.to_json()) == recorded
    says = describe_quality(recorded)
    assert "Over 50 sentences" in says and "BLEU 30.0" in says and "the **16 least important** of its 24 heads" in says
    assert "(8 when ranked by gradient, 0 in random order; tested in steps of 8)" in says
    table = quality_table(recorded, "chrF")
    assert table["value"].max() == 50 and set(table["order"]) == {MEASURED, GRADIENT, "random 0"}
    assert "!\\[" in describe_origin(replace(recorded, data="![](http://x/y.png)")), "no image of a stranger's"
