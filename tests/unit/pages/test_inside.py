from dataclasses import replace

import numpy as np
import pytest

from pages.ui.charts.palette import FIRST, SECOND
from pages.ui.heads.head_picker import picked_cell
from pages.ui.inside_a_layer.cell_tables import product_table, softmax_table, term_table, value_table
from pages.ui.inside_a_layer.mask import UNMASKED, future_share, leak_table
from pages.ui.inside_a_layer.norm_and_residual import size_chart, size_table, spread_table
from pages.ui.inside_a_layer.norm_diagram import diagram
from pages.ui.inside_a_layer.stage_matrix import shape, sizes, stage_matrix, tokens_table
from pages.ui.inside_a_layer.stage_sentences import SENTENCES, plain_sentence
from pages.ui.inside_a_layer.stages import SECTIONS, is_square, section_of
from pages.ui.inside_a_layer.worked_example import example_table
from pages.ui.params.attention import AttentionParams
from pages.ui.text.shapes import split_formula
from tests.conftest import ONE_SHAPE
from transformer.analysis.replay.cell import cell
from transformer.analysis.replay.contributions import contributions
from transformer.analysis.replay.residual import stream_sizes, sublayer
from transformer.analysis.replay.stages import stages
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.config import RELATIVE
from transformer.model.transformer import build
from transformer.running.translator import Translator
from transformer.text.languages import LANGUAGES
from transformer.values.trace import KINDS


def test_every_stage_belongs_to_a_section_and_the_sections_are_in_order(shaped_translator, shaped_trace):
    listed = stages(shaped_trace, shaped_translator.weights())
    sections = [section_of(stage.key) for stage in listed]
    assert list(dict.fromkeys(sections)) == list(SECTIONS)


def test_displayed_matrix_of_a_stage_matches_its_tensor(shaped_translator, shaped_trace):
    for stage in stages(shaped_trace, shaped_translator.weights(), head=1):
        assert shape(stage, shaped_translator.config, shaped_trace).endswith(str(list(stage.array.shape)))
        if stage.array.dtype.kind == "i":
            table = tokens_table(stage, shaped_trace, shaped_translator.tokenizer)
            assert list(table["id in the vocabulary"]) == stage.array[0].tolist()
            continue
        drawn = stage_matrix(stage, shaped_trace, shaped_translator.tokenizer, LANGUAGES)
        array = stage.array.reshape(stage.array.shape[-2:])
        if stage.key.startswith("generator"):
            assert drawn.note and drawn.values.shape[1] == len(drawn.columns) < array.shape[1]
            np.testing.assert_array_equal(drawn.values.max(axis=1), array.max(axis=1))
        elif stage.key == "decoder.self_attention.weights":
            seen = shaped_trace.decoder_mask
            assert np.isneginf(drawn.values[~seen]).all(), "drawn as masked, not as 0"
            np.testing.assert_array_equal(drawn.values[seen], array[seen])
        else:
            np.testing.assert_array_equal(drawn.values, array)
        assert len(drawn.rows) == len(drawn.values)
        assert drawn.columns is None or len(drawn.columns) == drawn.values.shape[1]
        assert split_formula(stage.formula).count("{") == split_formula(stage.formula).count("}")


def test_every_stage_has_its_own_explanation(shaped_translator, shaped_trace):
    config = shaped_translator.config
    said = {
        stage.key: plain_sentence(stage.key, sizes(config, shaped_trace), config.heads, LANGUAGES)
        for stage in stages(shaped_trace, shaped_translator.weights())
    }
    for key, sentence in said.items():
        assert sentence.endswith(".") and "{" not in sentence and len(sentence.split()) <= 25, key
    words = [sentence for key, sentence in said.items() if key.startswith(("encoder.self_attention", "generator"))]
    assert len(set(words)) == len(words), "two steps of one part are not told alike"
    tokens = len(shaped_trace.source_tokens) - 1
    assert f"cut into {tokens} tokens" in said["encoder.pieces"], "as the first page counts them"


def test_every_explanation_belongs_to_a_stage(shipped, small_config, tokenizer):
    """The shipped model lacks only the stages for relative positions, so other models supply these."""
    others = [
        Translator(Checkpoint(build(replace(small_config, positions=kind)).eval(), tokenizer), device="cpu", version="")
        for kind in RELATIVE
    ]
    keys = [
        stage.key
        for each in (shipped, *others)
        for stage in stages(each.trace("A dog", "Ein Hund", details=True), each.weights())
    ]
    for name in SENTENCES:
        assert any(key == name or key.endswith(f".{name}") for key in keys), name


@ONE_SHAPE
def test_maps_between_tokens_are_square(shaped_translator, shaped_trace):
    for stage in stages(shaped_trace, shaped_translator.weights()):
        last = stage.letters.rpartition(", ")[2]
        assert is_square(stage) == (last in "ST"), stage.key


@pytest.mark.parametrize("kind", KINDS)
def test_displayed_attention_computation_matches_the_model(shaped_translator, shaped_trace, kind):
    weights = shaped_translator.weights()
    found = cell(shaped_trace, weights, kind, 1, 2, 3, 2)
    whole = contributions(shaped_trace, weights, kind, 1)
    columns = [f"c{number}" for number in range(len(found.weights))]
    products = product_table(found)
    np.testing.assert_allclose(products["q"] * products["k"], products["q × k"])
    assert products["sum so far"].iloc[-1] == pytest.approx(found.raw_score, abs=1e-9)
    np.testing.assert_allclose(np.diff(products["sum so far"]), products["q × k"][1:], atol=1e-9)
    row = softmax_table(found, columns)
    powers = row["exp(s − max)"]
    np.testing.assert_allclose(powers[:-1] / powers.iloc[-1], row["weight"][:-1], atol=1e-5)
    assert row["weight"].iloc[-1] == pytest.approx(1, abs=1e-5)
    assert [text == "−∞" for text in row["masked"][:-1]] == (~found.row_allowed).tolist()
    assert list(row["weight"][:-1]) == list(shaped_trace.attention(kind)[1, 2, 3].astype(float)), "the trace's own"
    values = value_table(found, columns)
    numbers = values.filter(regex=r"^v\d").to_numpy()
    np.testing.assert_allclose(numbers[:-2].sum(axis=0), numbers[-2])
    np.testing.assert_allclose(numbers[-2], numbers[-1], atol=1e-5)
    np.testing.assert_array_equal(numbers[-1], shaped_trace.detail(kind, "outputs")[1, 2, 3])
    terms = term_table(found, whole, columns, 3, 2)
    np.testing.assert_allclose(terms["weight"] * terms["norm of v W^O"], terms["norm written"])
    assert terms["norm written"][2] == pytest.approx(np.linalg.norm(found.term))


def test_worked_softmax_example_has_known_values():
    table = example_table(np.array([112.0, 96.0]), 8.0)
    assert table["÷ √K"][:2].tolist() == [14, 12]
    np.testing.assert_allclose(table["weight = exp ÷ sum"], [0.880797, 0.119203, 1], atol=1e-6)


def test_page_explains_the_strongest_cell_if_no_cell_is_pinned(copying_translator):
    trace = copying_translator.trace("The dog and the cat")
    weights = trace.encoder[0, 0]
    row, column = picked_cell(trace, "encoder", AttentionParams())
    words = ~np.array([token.special for token in trace.source_tokens])
    assert weights[row, column] == weights[:, words].max()
    assert picked_cell(trace, "encoder", AttentionParams(rows=(2, 5), columns=(1,))) == (2, 1)
    assert picked_cell(trace, "encoder", AttentionParams(rows=(2,))) == (2, 3), "a row looks at the token after it"
    last = len(weights) - 1
    assert picked_cell(trace, "encoder", AttentionParams(rows=(999,), columns=(999,))) == (last, last)
    masked = AttentionParams(rows=(1,), columns=(4,))
    assert picked_cell(trace, "decoder", masked) == (1, 4), "a masked cell can be looked at"


@ONE_SHAPE
def test_later_tokens_get_attention_without_the_mask(shaped_translator, shaped_trace):
    text = shaped_trace.source_text, shaped_trace.target_text
    without = shaped_translator.trace(*text, details=True, interventions=UNMASKED)
    assert not future_share(shaped_trace, shaped_trace.decoder_mask).any()
    shares = future_share(without, shaped_trace.decoder_mask)
    assert (shares[..., :-1] > 0).all() and not shares[..., -1].any()
    table = leak_table(shaped_trace, without, 1, 2)
    np.testing.assert_array_equal(table["attention on later tokens"], shares[1, 2])
    np.testing.assert_array_equal(table["log-prob. with mask"], shaped_trace.log_probs)
    again = shaped_translator.trace(*text, details=True)
    assert again.equals(shaped_trace), "the next run without the option gives the first numbers back, bit for bit"


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_displayed_norm_and_residual_stream_match_the_trace(shaped_translator, shaped_trace, stack):
    weights = shaped_translator.weights()
    found = sublayer(shaped_trace, weights, stack, 1, "feed_forward")
    table = spread_table(found, ["x"] * len(found.before))
    np.testing.assert_allclose(table["mean normalised"], 0, atol=1e-9)
    assert not np.signbit(table["mean normalised"]).any(), "no minus 0"
    np.testing.assert_allclose(table["dev. normalised"], 1, atol=1e-3)
    stream = shaped_trace.residual_stream(stack)
    sizes = size_table(stream_sizes(shaped_trace, weights, stack), shaped_trace.parts(stack))
    np.testing.assert_allclose(sizes["residual stream"], np.linalg.norm(stream, axis=-1).mean(axis=1), rtol=1e-5)
    assert len(sizes) == len(stream) and sizes["after"].iloc[-1] == "2 FFN"
    colours = size_chart(sizes).to_dict()["layer"][0]["encoding"]["color"]["scale"]
    assert dict(zip(colours["domain"], colours["range"], strict=True)) == {"residual stream": FIRST, "written": SECOND}


@pytest.mark.parametrize("place", ["pre", "post"])
def test_residual_diagram_shows_the_norm_before_or_after_the_sublayer_as_in_the_model(place):
    words = [row["word"] for table in diagram(place).to_dict()["datasets"].values() for row in table if "word" in row]
    assert {"x", "LayerNorm", "sub-layer", "+", "residual connection"} <= set(words)
    assert (words.index("LayerNorm") < words.index("sub-layer")) == (place == "pre")
