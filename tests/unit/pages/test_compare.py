from __future__ import annotations

import ast

import numpy as np
import pytest

from pages.ui.alignment import alignment_chart, coverage_chart, covered
from pages.ui.compare.all_heads import STATISTICS, head_table, statistics_over_many
from pages.ui.compare.comparison import FIRST, Comparison, Pin
from pages.ui.compare.plane import NAME, PLACES, RADIUS, head_plane, name_places
from pages.ui.compare.similar_heads import branches, dendrogram
from transformer.analysis.alignment import alignment_rows, special_columns
from transformer.analysis.clusters import average_linkage
from transformer.analysis.heads import head_metrics
from transformer.analysis.scaling import plane_of
from transformer.analysis.statistics import Statistics, statistics_of
from transformer.trace import KINDS


def test_an_address_gives_a_comparison_back():
    other = Comparison(
        part="versus", kind="cross", metric="entropy", row=7, a=Pin("decoder", 2, 3, False, "A. b.c: d & e"),
        b=Pin("cross", 5, 7, True, "..."),
    )
    assert Comparison.from_address(other.to_address()) == other
    assert FIRST.to_address() == {} and Comparison.from_address({}) == FIRST


@pytest.mark.parametrize("value", ["", ".", "....", "encoder.0.1.words.x", "encoder.1.1.words. ", "x.1.1.words.a",
                                   "encoder.1.1.words", "encoder.-1.1.words.a", "encoder.00.1.words.a",
                                   "encoder.²,1.words.a", "a" * 500])
def test_rubbish_is_as_at_first(value):
    names = ("part", "kind", "row", "a", "b")
    assert Comparison.from_address({f"compare_{name}": value for name in names}) == FIRST


def test_a_pin_is_kept_to_what_a_model_has():
    assert Pin("cross", 40, 2, True, "x").within(6, 8) == Pin("cross", 5, 2, True, "x")


def test_the_branches_of_a_tree():
    """0 and 1 merge at 1, 2 joins them at 3; (x, y) to (x2, y2)."""
    linkage = np.array([[0, 1, 1.0, 2], [2, 3, 3.0, 3]])
    lines = {tuple(line) for line in branches(linkage).to_numpy().tolist()}
    assert len(lines) == 6
    heights = sorted(line[3] for line in lines)
    assert heights == [1, 1, 1, 3, 3, 3]
    ends = [line for line in lines if line[1] == 0]
    assert sorted(line[0] for line in ends) == [0, 1, 2], "a leaf at every place"


def test_plane_and_tree_name_every_head():
    points = np.random.default_rng(3).random((6, 2))
    distances = np.linalg.norm(points[:, None] - points[None], axis=-1)
    spec = head_plane(plane_of(distances), 2, 3).to_dict()
    table = next(iter(spec["datasets"].values()))
    assert [(row["layer"], row["head"]) for row in table] == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]
    tree = dendrogram(average_linkage(distances), 3).to_dict()
    assert sorted(ast.literal_eval(tree["encoding"]["x"]["axis"]["labelExpr"].removesuffix("[datum.value]"))) == [
        "1.1", "1.2", "1.3", "2.1", "2.2", "2.3",
    ]


def test_names_cover_neither_points_nor_each_other():
    points = np.random.default_rng(5).normal(scale=60, size=(48, 2))
    places = name_places(points)
    named = [(point, point + PLACES[place]) for point, place in zip(points, places, strict=True) if place]
    assert 24 < len(named) < 48, "some crowd"
    for number, (_, name) in enumerate(named):
        assert not (np.abs(points - name) < NAME + RADIUS).all(axis=1).any()
        others = [other for at, (_, other) in enumerate(named) if at != number]
        assert not (np.abs(np.array(others) - name) < 2 * NAME).all(axis=1).any()
    assert name_places(points[:1]) == ["above"]
    assert name_places(np.zeros((6, 2))) == [*PLACES, "", ""]


def test_heads_that_are_all_the_same_have_a_plane():
    assert head_plane(plane_of(np.zeros((4, 4))), 2, 2).to_dict()


def test_every_number_of_every_head_is_in_the_table(small_translator):
    trace = small_translator.translate("The old man reads a book.")
    scores = small_translator.tokenizer.scores
    here = {kind: head_metrics(trace, kind, scores) for kind in KINDS}
    many = statistics_of([trace], scores, small_translator.version)
    table = head_table(here, many)
    assert len(table) == sum(next(iter(metrics.values.values())).size for metrics in here.values())
    row = table[(table["kind"] == "Cross-attention") & (table["layer"] == 3) & (table["head"] == 2)].iloc[0]
    assert row["entropy"] == here["cross"].values["entropy"][2, 1] == pytest.approx(row["entropy over 1 sentences"])
    without = head_table(here, None)
    assert without.equals(table[[name for name in table.columns if "over" not in name]])


def test_numbers_of_another_model_are_not_shown():
    measured = Statistics.from_json(STATISTICS.read_text(encoding="utf-8"))
    assert statistics_over_many(measured.model).sentences == measured.sentences
    assert statistics_over_many("another") is None


def test_alignment_says_what_the_trace_says(copying_translator):
    trace = copying_translator.translate("The dog and the cat")
    rows = alignment_rows(trace, shift=False).mean(axis=1)
    special = special_columns(trace)
    sources = [f"s{number}" for number in range(rows.shape[-1])]
    targets = [f"t{number}" for number in range(rows.shape[1])]
    table = next(iter(alignment_chart(rows, special, sources, targets).to_dict()["datasets"].values()))
    assert [cell["source"] for cell in table] == sources[: len(targets)], "it copies: one position to one position"
    assert all(cell["weight"] > 0.99 for cell in table)
    assert coverage_chart(rows[0].sum(0), sources).to_dict()
    assert "On average 0% of a row rests on the end symbol" in covered(rows[0], special, sources, 0)
