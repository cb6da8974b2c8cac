from dataclasses import replace

import numpy as np
import pytest

from pages.ui.attention.alignment import alignment_chart, coverage_chart, covered
from pages.ui.compare_heads.across_layers import describe_where
from pages.ui.compare_heads.all_heads import (
    IMPORTANCE_NAME,
    IMPORTANCE_TITLE,
    describe_importance,
    head_table,
    headings,
)
from pages.ui.compare_heads.head_scatter import HALF_LABEL_SIZE, LABEL_OFFSETS, RADIUS, head_scatter, name_places
from pages.ui.compare_heads.similar_heads import branches, dendrogram
from pages.ui.measurements.recordings import AGREEMENT, IMPORTANCE, REMOVAL, STATISTICS
from pages.ui.params.attention import AttentionParams
from pages.ui.params.compare_heads import CompareParams, Pin
from transformer.analysis.alignment import alignment_rows, special_columns
from transformer.analysis.heads.clustering import average_linkage
from transformer.analysis.heads.mds import classical_mds
from transformer.analysis.heads.metrics import METRICS, HeadMetrics, head_metrics, metrics_of
from transformer.analysis.heads.statistics import Statistics, statistics_of
from transformer.measurements.importance import ImportanceStatistics, importance_statistics
from transformer.values.trace import KINDS

FIRST = CompareParams()


def test_url_restores_a_comparison():
    other = CompareParams(
        part="two_heads",
        kind="cross",
        metric="entropy",
        row=7,
        a=Pin("decoder", 2, 3, False, "A. b.c: d & e"),
        b=Pin("cross", 5, 7, True, "..."),
    )
    assert CompareParams.from_address(other.to_address()) == other
    assert FIRST.to_address() == {} and CompareParams.from_address({}) == FIRST


@pytest.mark.parametrize("metric", [*(metric.name for metric in METRICS), IMPORTANCE_NAME, "previous_2"])
def test_url_accepts_every_metric_name(metric):
    allowed = "at most 30 of a to z, 0 to 9 and _, a letter first"
    assert CompareParams.from_address({"compare_metric": metric}).metric == metric, allowed
    assert AttentionParams.from_address({"metric": metric}).metric == metric


@pytest.mark.parametrize(
    "value",
    [
        "....",
        "encoder.0.1.words.x",
        "encoder.1.1.words. ",
        "x.1.1.words.a",
        "encoder.1.1.words",
        "encoder.00.1.words.a",
    ],
)
def test_invalid_url_falls_back_to_defaults(value):
    names = ("part", "kind", "row", "a", "b")
    assert CompareParams.from_address({f"compare_{name}": value for name in names}) == FIRST


def test_pinned_head_is_clamped_to_the_layers_and_heads_of_the_model():
    assert Pin("cross", 40, 2, True, "x").within(6, 8) == Pin("cross", 5, 2, True, "x")


def test_dendrogram_lines_match_the_heights_of_their_merges():
    """Leaves 0 and 1 merge at height 1, and leaf 2 joins them at height 3. A line goes from (x, y) to (x2, y2)."""
    linkage = np.array([[0, 1, 1.0, 2], [2, 3, 3.0, 3]])
    lines = {tuple(line) for line in branches(linkage).to_numpy().tolist()}
    assert len(lines) == 6
    heights = sorted(line[3] for line in lines)
    assert heights == [1, 1, 1, 3, 3, 3]
    ends = [line for line in lines if line[1] == 0]
    assert sorted(line[0] for line in ends) == [1, 2, 3], "a leaf at every place"


def test_scatter_plot_and_dendrogram_label_every_head():
    points = np.random.default_rng(3).random((6, 2))
    distances = np.linalg.norm(points[:, None] - points[None], axis=-1)
    spec = head_scatter(classical_mds(distances), 2, 3).to_dict()
    table = next(iter(spec["datasets"].values()))
    assert [(row["layer"], row["head"]) for row in table] == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]
    tree = dendrogram(average_linkage(distances), 3).to_dict()
    (names,) = (each["value"] for each in tree["params"] if each["name"] == "leaf_labels")
    assert sorted(names) == ["1.1", "1.2", "1.3", "2.1", "2.2", "2.3"]


def test_scatter_plot_labels_do_not_overlap():
    points = np.random.default_rng(5).normal(scale=60, size=(48, 2))
    places = name_places(points)
    named = [(point, point + LABEL_OFFSETS[place]) for point, place in zip(points, places, strict=True) if place]
    assert 24 < len(named) < 48, "some crowd"
    for number, (_, name) in enumerate(named):
        assert not (np.abs(points - name) < HALF_LABEL_SIZE + RADIUS).all(axis=1).any()
        others = [other for at, (_, other) in enumerate(named) if at != number]
        assert not (np.abs(np.array(others) - name) < 2 * HALF_LABEL_SIZE).all(axis=1).any()
    assert name_places(points[:1]) == ["above"]
    assert name_places(np.zeros((6, 2))) == [*LABEL_OFFSETS, "", ""]


def test_scatter_plot_points_are_outlined_in_both_themes():
    """Without outlines, the first layers' dark points would vanish in the dark theme, and the last layers' light points
    in the light theme.
    """
    spec = head_scatter(classical_mds(np.zeros((4, 4))), 2, 2).to_dict()
    points = spec["layer"][0]
    assert (points["mark"]["type"], points["mark"]["stroke"]) == ("circle", "currentColor")
    assert points["encoding"]["color"]["legend"]["symbolStrokeColor"] == "currentColor"


def test_right_to_left_words_in_a_caption_are_isolated():
    rows = np.array([[[0.2, 0.8]], [[0.7, 0.3]]])
    said = describe_where("decoder", rows, np.array([True, True]), ["in: لدي → out: حلم"], 0, ["<s> start", "لدي"])
    texts = [part for part in said if isinstance(part, str)]
    assert texts == [
        "Where the attention of “\u2068in: لدي → out: حلم\u2069” is strongest in each layer: ",
        " at “\u2068لدي\u2069”, 0.80; ",
        " at “<s> start”, 0.70.",
    ]


def test_caption_gives_the_positions_of_repeated_words():
    rows = np.array([[[0.2, 0.1, 0.7]], [[0.1, 0.6, 0.3]]])
    said = describe_where("encoder", rows, np.array([True] * 3), ["the", "dog", "the"], 2, ["the", "dog", "the"])
    texts = [part for part in said if isinstance(part, str)]
    assert texts[0].startswith("Where the attention of “the” (position 3) is")
    assert texts[1:] == [" at “the” (position 3), 0.70; ", " at “dog”, 0.60."]


def test_head_table_contains_every_metric_of_every_head(small_translator):
    trace = small_translator.trace("The old man reads a book.")
    scores = small_translator.tokenizer.scores
    here = {kind: head_metrics(trace, kind, scores) for kind in KINDS}
    many = statistics_of([trace], small_translator.tokenizer, small_translator.version)
    table = head_table(here, many)
    assert len(table) == sum(next(iter(metrics.values.values())).size for metrics in here.values())
    row = table[(table["kind"] == "Cross attention") & (table["layer"] == 3) & (table["head"] == 2)].iloc[0]
    assert row["entropy"] == here["cross"].values["entropy"][2, 1] == pytest.approx(row["entropy over 1 sentences"])
    without = head_table(here, None)
    assert without.equals(table[[name for name in table.columns if "over" not in name]])
    assert headings(without, ()) == {}


def test_related_table_columns_share_one_heading(small_translator):
    trace = small_translator.trace("The old man reads a book.")
    here = {kind: head_metrics(trace, kind, small_translator.tokenizer.scores) for kind in KINDS}
    many = statistics_of([trace], small_translator.tokenizer, small_translator.version)
    worth = importance_statistics(small_translator, ["A dog.", "I have a dream."])
    table = head_table(here, many, worth)
    found = headings(table, {1, 2})
    assert [found[name] for name in table.columns[3:]] == [
        ("name", "here"),
        ("name", "on average"),
        (IMPORTANCE_TITLE, "mean"),
        (IMPORTANCE_TITLE, "from"),
        (IMPORTANCE_TITLE, "to"),
        *(
            (metric, part)
            for metric in dict.fromkeys(m.title for kind in KINDS for m in metrics_of(kind))
            for part in ("here", "mean")
        ),
    ]


def test_head_table_shows_importance_over_many_sentences_with_its_interval(small_translator):
    trace = small_translator.trace("The old man reads a book.")
    here = {kind: head_metrics(trace, kind, small_translator.tokenizer.scores) for kind in KINDS}
    worth = importance_statistics(small_translator, ["A dog.", "I have a dream."])
    table = head_table(here, None, worth)
    row = table[(table["kind"] == "Cross attention") & (table["layer"] == 3) & (table["head"] == 2)].iloc[0]
    measured = worth.measured["cross"]
    assert row[f"{IMPORTANCE_TITLE}, over 2 sentences"] == measured.mean[2, 1]
    assert (row["from, over 2 sentences"], row["to, over 2 sentences"]) == (measured.low[2, 1], measured.high[2, 1])
    assert "averaged over 2 other sentences" in describe_importance(worth)


def test_recording_that_is_missing_or_belongs_to_another_model_is_not_shown(tmp_path):
    path = tmp_path / "importance.json"
    assert replace(IMPORTANCE, path=path).of_model("x") is None
    model = ImportanceStatistics.from_json(IMPORTANCE.path.read_text(encoding="utf-8")).model
    assert IMPORTANCE.of_model(model).sentences == 200
    assert IMPORTANCE.of_model("another") is None


@pytest.mark.thorough
def test_shipped_recordings_belong_to_the_shipped_model(shipped):
    """If this fails because the model has changed, recreate the recordings with the commands in
    `pages.ui.measurements.recordings`.
    """
    for recording in (IMPORTANCE, AGREEMENT, REMOVAL):
        assert recording.of_model(shipped.version) is not None, recording.command
    removal = REMOVAL.of_model(shipped.version)
    assert {point.order for point in removal.points} >= {"measured", "gradient", "random 0"}


def test_metric_missing_from_the_recording_is_shown_for_the_current_sentence(small_translator):
    trace = small_translator.trace("The old man reads a book.")
    here = {kind: head_metrics(trace, kind, small_translator.tokenizer.scores) for kind in KINDS}
    older = {
        kind: HeadMetrics(kind, {name: each for name, each in metrics.values.items() if name != "entropy"}, {})
        for kind, metrics in here.items()
    }
    names = head_table(here, Statistics("x", 5, older)).columns
    assert "entropy" in names and "entropy over 5 sentences" not in names and "span over 5 sentences" in names


def test_shipped_head_statistics_contain_every_metric():
    measured = Statistics.from_json(STATISTICS.path.read_text(encoding="utf-8"))
    for kind in KINDS:
        names = {metric.name for metric in metrics_of(kind)}
        assert set(measured.heads[kind].values) == names, f"run: {STATISTICS.command}"


def test_alignment_chart_matches_the_trace(copying_translator):
    trace = copying_translator.trace("The dog and the cat")
    rows = alignment_rows(trace, shift=False).mean(axis=1)
    special = special_columns(trace)
    sources = [f"s{number}" for number in range(rows.shape[-1])]
    targets = [f"t{number}" for number in range(rows.shape[1])]
    table = alignment_chart(rows, special, sources, targets).to_dict()["data"]["values"]
    assert [cell["source"] for cell in table] == sources[: len(targets)], "it copies: one position to one position"
    assert all(cell["weight"] > 0.99 for cell in table)
    assert coverage_chart(rows[0].sum(0), sources).to_dict()
    assert "On average, a row puts 0% of its weight on the end symbol" in covered(
        rows[0], special, sources, 0, "German"
    )
