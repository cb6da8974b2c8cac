import io
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pages.ui.charts.downloads import csv_text, json_text
from pages.ui.params.what_mattered import WHOLE, MatteredParams
from pages.ui.text.number_format import typeset
from pages.ui.what_mattered.agreement import (
    area_table,
    curve_table,
    deletion_chart,
    describe_conclusions,
    describe_faithfulness,
    pair_table,
)
from pages.ui.what_mattered.components import (
    GROUPS,
    LARGEST,
    component_chart,
    component_table,
    component_title,
    describe_components,
    largest,
)
from pages.ui.what_mattered.export import run_facts, with_baselines
from pages.ui.what_mattered.guess import (
    USER,
    Retyping,
    answer_table,
    decrease_chart,
    describe_winner,
    named_by,
    text_without,
)
from pages.ui.what_mattered.methods import title, unit_and_sum
from pages.ui.what_mattered.question import (
    AttributionQuestion,
    candidates,
    default_group,
    explained_group,
    group_labels,
    question_of,
    source_columns,
    word_groups,
)
from pages.ui.what_mattered.recorded_agreement import describe_recorded_agreement, recorded_table
from pages.ui.what_mattered.sides import describe_sides, share_chart, share_table
from pages.ui.what_mattered.square import square_chart
from pages.ui.what_mattered.strip import (
    NOT_HIDEABLE,
    UNDECIDED,
    compact_sums,
    describe_first_words,
    describe_hiding,
    part_chart,
    part_table,
    side_names,
    strip_chart,
    strip_table,
    sum_table,
)
from transformer.ablation.estimate import Estimate
from transformer.attribution.agreement import agreement
from transformer.attribution.attribution import METHODS, Attribution, Target
from transformer.attribution.deletion import DeletionCurves
from transformer.attribution.direct_logits import Component, direct_logits
from transformer.measurements.agreement import AgreementStatistics
from transformer.text.languages import LANGUAGES
from transformer.text.tokenizer import PAD

TIRED = "The animal didn't cross the street because it was too tired."
SOURCE, PREFIX = side_names(LANGUAGES)
GROUPS_OF_TWO = ((0,), (1,))


@pytest.fixture(scope="module")
def trace(shipped):
    return shipped.trace(TIRED, details=True)


@pytest.fixture(scope="module")
def asked(shipped, trace):
    """Return the question that asks why the model predicted "es", the ninth token."""
    return question_of(trace, shipped.tokenizer, MatteredParams(explained="9"), (0,), LANGUAGES)


@pytest.fixture(scope="module")
def found(shipped, trace, asked):
    return [shipped.attribute(trace, method, [asked.target], words=True) for method in METHODS]


def made(method, source, prefix, total=np.nan, **remainders):
    """Return an attribution of one target."""
    return Attribution(
        method,
        (Target((1,)),),
        np.array([source], dtype=float),
        np.array([prefix], dtype=float),
        tuple((column,) for column in range(len(source))),
        tuple((column,) for column in range(len(prefix))),
        np.array([total]),
        {name: np.array([part]) for name, part in remainders.items()},
    )


QUESTION = AttributionQuestion(
    Target((1,)),
    "␣x",
    "",
    True,
    ((0,), (1,), (2,)),
    GROUPS_OF_TWO,
    ("a", "*b*", "</s> end"),
    ("<s> start", "c"),
    ranked=(0, 1),
    languages=LANGUAGES,
)


def test_predicted_word_is_explained_by_source_words_and_earlier_target_words(trace, asked):
    assert asked.name == "es" and asked.target == Target((8,)) and asked.other == ""
    assert asked.prefix_labels == ("<s> start", "Das", "Tier", "überquerte", "die", "Straße", "nicht", ",", "weil")
    assert asked.source_labels[1] == "animal" and asked.source_labels[-1] == "</s> end"
    assert asked.ranked == tuple(range(len(asked.source) - 1)), "the end symbol is no word"


@pytest.fixture(scope="module")
def books(shipped):
    """A trace whose sentence and translation both contain repeated words."""
    return shipped.trace("The old man gave the book to the girl.", "Der alte Mann gab dem Kind das Buch und dem Kind.")


def test_repeated_words_are_numbered_in_labels_table_and_conclusion(shipped, books):
    second = [number for number, token in enumerate(books.predicted_tokens, start=1) if token.text == "▁dem"][1]
    each = question_of(books, shipped.tokenizer, MatteredParams(explained=str(second)), (0,), LANGUAGES)
    labels = ("The", "old", "man", "gave", "the", "book", "to", "the (2)", "girl", ".", "</s> end")
    assert each.source_labels == labels == source_columns(books, words=True)[1]
    assert each.prefix_labels == ("<s> start", "Der", "alte", "Mann", "gab", "dem", "Kind", "das", "Buch", "und")
    assert each.name == "dem (2)" and each.explained == r"**dem \(2\)**"
    scores = [0.0] * len(labels)
    scores[4], scores[7] = 2.94, -0.26
    erasure = made("erasure", scores, [0.0] * len(each.prefix))
    said = describe_hiding(each, [erasure])
    assert "without **the**, the log-probability falls by 2.94 nats" in said
    assert r"without **the \(2\)**, it even rises by 0.26" in said
    ranks_second = made("weights", [0.0] * 7 + [1.0] + [0.0] * 3, [0.0] * len(each.prefix))
    assert describe_first_words(each, [ranks_second]) == r"**All 1** methods put **the \(2\)** first."
    table = strip_table(each, [erasure])
    assert list(table[table.side == SOURCE].word) == list(labels)
    agreed = agreement([ranks_second, replace(ranks_second, method="erasure")], each.ranked)
    concluded = describe_conclusions(each, agreed, [ranks_second, replace(ranks_second, method="erasure")])
    assert r"without **the \(2\)**, the log-probability" in concluded


def test_alternative_token_is_compared_only_with_the_first_token_of_the_word(shipped, books):
    """An alternative candidate replaces a single token, so only the first token of the word is explained."""
    second = [number for number, token in enumerate(books.predicted_tokens) if token.text == "▁dem"][1]
    other = next(iter(candidates(books, shipped.tokenizer.symbols, (second,))))
    params = MatteredParams(explained=str(second + 1), against=other)
    assert question_of(books, shipped.tokenizer, params, (0,), LANGUAGES).name == "dem (2)"


def test_attribution_shows_punctuation_in_its_own_column(trace):
    assert group_labels(trace, word_groups(trace, words=True), words=True) == [
        "Das",
        "Tier",
        "überquerte",
        "die",
        "Straße",
        "nicht",
        ",",
        "weil",
        "es",
        "zu",
        "müde",
        "war",
        ".",
        "</s> end",
    ]
    assert sorted(sum(word_groups(trace, words=True), ())) == list(range(len(trace.predicted_tokens)))
    assert word_groups(trace, words=False) == tuple((at,) for at in range(len(trace.predicted_tokens)))


def test_attribution_of_a_token_covers_only_tokens_read_before_it(shipped, trace):
    comma = question_of(trace, shipped.tokenizer, MatteredParams(explained="7"), (0,), LANGUAGES)
    assert comma.name == "," and comma.prefix_labels[-1] == "nicht"


def test_attribution_of_the_whole_translation_covers_every_target_position(shipped, trace):
    whole = question_of(trace, shipped.tokenizer, MatteredParams(explained=WHOLE, against=5), (0,), LANGUAGES)
    assert whole.target.positions == tuple(range(len(trace.predicted_tokens))) and whole.target.against is None
    assert whole.explained == "the whole translation"


@pytest.mark.parametrize("explained", ["", "999"])
def test_default_word_is_explained_if_the_url_names_a_nonexistent_word(shipped, trace, explained):
    params = MatteredParams(explained=explained)
    assert explained_group(trace, params) is None
    assert question_of(trace, shipped.tokenizer, params, (3,), LANGUAGES).target == Target((3,))


def test_word_can_be_compared_only_with_candidates_of_its_decoding_step(shipped, trace):
    others = candidates(trace, shipped.tokenizer.symbols, (8,))
    taken = trace.predicted_tokens[8].id
    assert taken not in others and PAD not in others and len(others) >= 8
    assert list(others.values()) == sorted(others.values(), reverse=True) and sum(others.values()) < 1
    best = next(iter(others))
    compared = question_of(trace, shipped.tokenizer, MatteredParams(explained="9", against=best), (0,), LANGUAGES)
    assert compared.target == Target((8,), (best,)) and compared.other
    for against in (taken, PAD, 999_999):
        other = question_of(trace, shipped.tokenizer, MatteredParams(explained="9", against=against), (0,), LANGUAGES)
        assert other.target.against is None and other.other == ""


def test_default_word_is_one_on_which_methods_disagree(trace):
    tops = np.zeros(len(trace.predicted_tokens), dtype=int)
    others = tops.copy()
    others[[6, 8]] = 1
    assert default_group(trace, tops, others, words=True) == (8,), "a comma is no word"
    least_certain = default_group(trace, tops, tops, words=True)
    assert trace.entropy[least_certain[0]] == max(trace.entropy[:-1])


def test_attribution_chart_has_every_score_of_every_method(asked, found):
    table = strip_table(asked, found)
    assert len(table) == len(METHODS) * (len(asked.source) + len(asked.prefix))
    for row, each in enumerate(found, start=1):
        for side, scores in ((SOURCE, each.source[0]), (PREFIX, each.prefix[0, : len(asked.prefix)])):
            shown = table[(table.row == row) & (table.side == side)]
            np.testing.assert_array_equal(shown.score, scores)
            assert list(shown.word) == list(asked.source_labels if side == SOURCE else asked.prefix_labels)
        (first,) = table[(table.row == row) & table["first"]].number
        assert first == each.source[0].argmax() + 1
    assert abs(table.scaled.dropna()).max() == 1
    assert (table[~table.signed].scaled >= 0).all()


def test_attribution_chart_scales_every_row_independently():
    both = strip_table(QUESTION, [made("weights", [0.1, 0.2, 0.1], [0.8, 0.2])])
    assert list(both.scaled) == [0.5, 1, 0.5, 1, 0.25], "each side by itself, because each adds up to 1 by itself"
    signed = strip_table(QUESTION, [made("frozen_gradient", [1, -4, 2], [2, 0])])
    assert list(signed.scaled) == [0.25, -1, 0.5, 0.5, 0]
    assert list(signed[signed["first"]].word) == ["</s> end"]
    nothing = strip_table(QUESTION, [made("frozen_gradient", [0, 0, 0], [0, 0])])
    assert list(nothing.scaled) == [0] * 5


def test_attribution_method_without_a_result_is_labelled_with_the_reason():
    hidden = strip_table(QUESTION, [made("erasure", [1, 2, 3], [1, np.nan])])
    assert hidden.shown.iloc[-1] == NOT_HIDEABLE and np.isnan(hidden.score.iloc[-1])
    undecided = strip_table(QUESTION, [made("alti", [np.nan] * 3, [np.nan] * 2)])
    assert set(undecided.shown) == {UNDECIDED} and not undecided["first"].any()


def test_attribution_chart_passes_words_as_data_not_as_code(asked, found):
    quoted = replace(QUESTION, source_labels=("\" + alert(1) + '", "if", "</s> end"))
    each = [made("weights", [0.1, 0.2, 0.1], [0.8, 0.2])]
    spec = strip_chart(quoted, each, strip_table(quoted, each)).to_dict()
    labels = {param["name"]: param["value"] for param in spec["params"] if "value" in param}
    assert labels["column_labels"] == [*quoted.source_labels, "", *quoted.prefix_labels]
    spec["params"], spec["datasets"] = [], {}
    assert "alert" not in json.dumps(spec)


def test_attribution_chart_has_a_line_between_source_and_prefix(asked, found):
    spec = strip_chart(asked, found, strip_table(asked, found)).to_dict()
    (line,) = [layer for layer in spec["layer"] if layer["mark"]["type"] == "rule"]
    assert spec["datasets"][line["data"]["name"]] == [{"column": len(asked.source) + 1}]
    cells = strip_table(asked, found)
    assert len(asked.source) + 1 not in set(cells.column)
    assert cells[cells.side == PREFIX].column.min() == len(asked.source) + 2


def test_attribution_chart_states_the_unit_and_sum_of_every_row(found):
    said = {each.method: unit_and_sum(each) for each in found}
    assert said["weights"] == "shares; add up to 1 per language" and said["alti"] == "shares; adds up to 1.00"
    assert said["erasure"] == "nats; each score measured separately"
    exact = next(each for each in found if each.method == "frozen_gradient")
    assert f", total {typeset(exact.total[0])}" in said["frozen_gradient"]
    assert "±" in said["integrated_gradients"]


def test_displayed_sums_match_the_attribution_scores(found):
    table = sum_table(found, LANGUAGES).set_index("method")
    exact = table.loc[title("frozen_gradient")]
    parts = exact[[SOURCE, PREFIX, "source positions", "target positions", "biases"]].sum()
    assert parts == pytest.approx(exact["should add up to"], abs=1e-4) and exact["off by"] < 1e-4
    assert table.loc[title("erasure"), ["should add up to", "off by"]].isna().all()
    assert table.loc[title("weights"), [SOURCE, PREFIX]].tolist() == pytest.approx([1, 1])
    shown = compact_sums(sum_table(found, LANGUAGES), LANGUAGES).set_index("method")
    total = shown.loc[title("frozen_gradient"), [SOURCE, "German", "rest"]].sum()
    assert total == pytest.approx(shown.loc[title("frozen_gradient"), "total"], abs=1e-4)


def test_bar_chart_of_an_exact_method_includes_biases_and_the_sum(found):
    exact = next(each for each in found if each.method == "frozen_gradient")
    table = part_table(exact, LANGUAGES)
    assert "biases" in set(table.part) and table.score.sum() == pytest.approx(exact.total[0], abs=1e-4)
    spec = part_chart(table, "logit", float(exact.total[0])).to_dict()
    assert "their sum" in json.dumps(spec)


def test_conclusion_counts_the_methods_that_agree():
    each = [made("weights", [3, 1, 5], [0, 0]), made("norms", [2, 1, 1], [0, 0]), made("erasure", [4, 1, 1], [0, 0])]
    assert describe_first_words(QUESTION, each) == (
        r"**2 of 3** methods put **a** first; Attention weights puts **\<\/s\> end** first."
    )
    assert describe_first_words(QUESTION, each[1:]) == "**All 2** methods put **a** first."
    assert describe_first_words(QUESTION, [made("alti", [np.nan] * 3, [0, 0])]) == "No method has an answer here."


def test_caption_states_which_hidden_words_lower_or_raise_the_probability():
    sentence = describe_hiding(QUESTION, [made("erasure", [0.5, -0.25, 0], [0, 0])])
    assert "without **a**, the log-probability falls by 0.50 nats" in sentence
    assert r"without **\*b\***, it even rises by 0.25" in sentence
    assert "hiding any one English word" in describe_hiding(QUESTION, [made("erasure", [0.01, 0, 0], [0, 0])])
    assert describe_hiding(QUESTION, [made("weights", [1, 0, 0], [0, 0])]) == ""


@pytest.fixture(scope="module")
def written(shipped, trace):
    return direct_logits(trace, shipped.weights(), [Target((8,))])


def test_component_scores_are_sorted_and_add_up_to_the_logit(written):
    table = component_table(written)
    assert len(table) == 118 and list(table.score) == sorted(table.score, reverse=True)
    assert table.score.sum() == pytest.approx(written.logits[0], abs=1e-4)
    assert set(table.group) <= set(GROUPS) and set(table.kind) == {"", "decoder", "cross"}
    heads = table[table.kind != ""]
    assert len(heads) == 96 and heads[["layer", "head"]].min().tolist() == [1, 1]
    fewer = largest(table)
    assert len(fewer) == LARGEST + 1 and fewer.score.sum() == pytest.approx(table.score.sum())
    assert fewer.iloc[-1].component == "98 others together"
    assert len(largest(table.head(3))) == 3


def test_every_model_component_has_a_readable_name():
    assert component_title(Component("cross-attention head", 4, 0)) == "cross attention, layer 5, head 1"
    assert component_title(Component("feed-forward", 0)) == "feed-forward, layer 1"
    assert component_title(Component("output bias")) == "output bias"


def test_component_bars_are_selectable_and_their_sum_is_stated(asked, written):
    table = component_table(written)
    spec = component_chart(largest(table)).to_dict()
    (pick,) = [param for param in spec["params"] if "select" in param]
    assert pick["select"]["fields"] == ["kind", "layer", "head"]
    assert f"**{typeset(table.score.sum())}**" in describe_components(asked, written, table)


def test_insignificant_agreement_between_methods_is_drawn_in_grey(asked, found):
    agreed = agreement(found, asked.ranked)
    table = pair_table(agreed)
    assert len(table) == len(METHODS) ** 2 and (table.n == len(asked.ranked)).all()
    assert ((abs(table.tau) > table.chance) == table["beyond chance"]).all()
    spec = square_chart(agreed.methods, table, []).to_dict()
    grey = next(layer for layer in spec["layer"] if "inside" in str(layer["transform"]) and "color" in layer["mark"])
    assert grey["mark"]["type"] == "rect"
    sentence = describe_conclusions(asked, agreed, found)
    upper = np.triu_indices(len(METHODS), k=1)
    above = (agreed.above_chance & (agreed.tau > 0))[upper].sum()
    assert f"Of {len(upper[0])} pairs of methods, **{above}**" in sentence
    assert "What you may not" in sentence


def test_recorded_agreement_of_methods_is_tabulated_and_described():
    methods = ("weights", "rollout", "erasure")
    mean = np.array([[1.0, 0.1, 0.5], [0.1, 1.0, 0.05], [0.5, 0.05, 1.0]])
    tau = Estimate(mean, mean - 0.1, np.minimum(mean + 0.1, 1))
    recorded = AgreementStatistics("m", 20, 1, "d", 6.5, methods, tau, Estimate(mean / 2, mean / 4, mean))
    again = AgreementStatistics.from_json(recorded.to_json())
    assert again.methods == methods and again.left_out == 1
    np.testing.assert_allclose(again.tau.low, tau.low)
    numbers = recorded_table(again)
    beyond = numbers.set_index(["method", "other method"])["beyond chance"]
    assert beyond["Attention weights", "Erasure"] and not beyond["Rollout", "Erasure"]
    says = describe_recorded_agreement(again)
    assert "Closest to the ranking by erasure is **Attention weights**: tau 0.50 (0.40 to 0.60)" in says
    assert "Farthest from it is **Rollout**: 0.05 (−0.05 to 0.15). The two intervals do not overlap" in says
    assert "in **25%** of the sentences (12% to 50%)" in says
    assert square_chart(methods, numbers, []).to_dict()


def test_conclusion_names_the_word_with_the_largest_effect_or_states_that_there_is_none():
    each = [made("weights", [1, 3, 9], [0, 0]), made("erasure", [2, 1, 5], [0, 0])]
    sentence = describe_conclusions(QUESTION, agreement(each, QUESTION.ranked), each)
    assert "without **a**, the log-probability of **x** is 2.00 nats lower" in sentence
    assert "0 of the 1 other methods" in sentence
    each[1] = made("erasure", [-2, -1, 5], [0, 0])
    assert "**x** does not depend on any word alone" in describe_conclusions(
        QUESTION, agreement(each, QUESTION.ranked), each
    )


def test_caption_compares_the_deletion_curve_with_random_orders():
    curves = DeletionCurves(np.array([0.0, -4, -5]), np.array([0.0, -1, -5]), np.array([[0.0, -2, -5], [0.0, -3, -5]]))
    assert "lower mean than all the curves of 2 random orders, by 0.75 nats on average" in describe_faithfulness(
        "weights", curves
    )
    worse = replace(curves, best_first=np.array([0.0, -1, -5]))
    assert "higher mean than all the curves of 2" in describe_faithfulness("weights", worse)
    between = replace(curves, best_first=np.array([0.0, -2.5, -5]))
    assert "does not differ clearly from the curves of 2 random orders" in describe_faithfulness("weights", between)
    table = area_table({"weights": curves})
    assert table.iloc[0].tolist()[1:3] == [-3.25, -1.75] and table.iloc[0]["below random"] == 0.75
    assert len(curve_table({"weights": curves})) == 4 * 3
    assert deletion_chart(curves, QUESTION).to_dict()


def test_displayed_source_shares_match_the_attribution_methods(shipped, trace):
    each = [shipped.attribute(trace, method) for method in ("frozen_gradient", "alti")]
    table = share_table(trace, each)
    np.testing.assert_array_equal(table.share, np.concatenate([one.source_share() for one in each]))
    lowest = each[0].source_share().min()
    step = int(each[0].source_share().argmin()) + 1
    assert f"**{lowest:.0%}**, at step {step}, where the model writes" in describe_sides(trace, each, LANGUAGES)
    assert share_chart(trace, table, "English").to_dict()


def test_guessing_game_answer_is_the_word_with_the_largest_measured_effect():
    each = [made("weights", [1, 3, 9], [0, 0]), made("erasure", [2, 1, 5], [0, 0])]
    answers = named_by(each, (0, 1), 1)
    assert answers == {1: [USER, "Attention weights"], 0: ["Erasure"]}
    typed = {0: Retyping("*b*", "c", 1.0), 1: Retyping("a", "d", 4.0)}
    sentence = describe_winner(answers, QUESTION.source_labels, each[1].source[0], (0, 1), typed)
    assert "When **a** is hidden, the translation changes most" in sentence
    assert "Erasure picked this word." in sentence and "number 2 of 2" in sentence
    assert r"**\*b\*** costs most when the sentence is retyped without it: 4.00 nats" in sentence
    table = answer_table(answers, QUESTION.source_labels, each[1].source[0], (0, 1), typed)
    assert list(table.word) == ["a", "*b*"] and list(table["named by"]) == ["Erasure", "you, Attention weights"]
    right = describe_winner({0: [USER]}, QUESTION.source_labels, each[1].source[0], (0, 1), {0: Retyping("", "", None)})
    assert "Your word" not in right and "Typed" not in right
    assert decrease_chart(each[1].source[0], (0, 1), QUESTION.source_labels, 1).to_dict()


def test_deleting_a_word_keeps_the_rest_of_the_sentence(trace):
    groups, labels, ranked = source_columns(trace, words=True)
    assert (
        text_without(trace, groups[labels.index("animal")]) == "The didn't cross the street because it was too tired."
    )
    assert text_without(trace, groups[0]).startswith("animal didn't")
    assert text_without(trace, groups[ranked[-1]]).endswith("too tired")


def test_attribution_export_names_its_method_and_model(shipped, trace, asked, found):
    facts = run_facts(trace, shipped.version, asked)
    table = strip_table(asked, found)[["method", "unit", "side", "number", "word", "score"]]
    rows = pd.read_csv(io.StringIO(csv_text(with_baselines(table), facts)), keep_default_na=False)
    assert set(rows.model) == {shipped.version} and set(rows.sentence) == {TIRED} and set(rows.positions) == {"[8]"}
    assert set(rows[rows.method == "Integrated gradients"].baseline) == {"embeddings set to 0, positions unchanged"}
    content = json.loads(json_text(facts, {"numbers": table, "sums": sum_table(found, LANGUAGES)}))
    assert len(content["numbers"]) == len(table) and len(content["sums"]) == len(METHODS)
    assert content["numbers"][-1]["score"] is None, "erasure of the token just read"
    assert content["model"] == shipped.version and content["against"] is None


def test_url_restores_the_attribution_settings():
    params = MatteredParams(part="agreement", explained="9", against=7, tokens=True, deletion=True)
    address = params.to_address()
    assert address["mattered_explained"] == "9" and MatteredParams.from_address(address) == params
    assert params.for_another_sentence() == MatteredParams(part="agreement", tokens=True)
    for invalid in ("0", "1000", "whole translation", "-1", "9 "):
        assert MatteredParams.from_address({"mattered_explained": invalid}).explained == ""
