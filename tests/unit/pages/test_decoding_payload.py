import numpy as np
import pytest

from attention_atlas.browser.wire import unpack
from pages.ui.decoding.component import with_typed
from pages.ui.decoding.payload import decoding_payload, shown_nodes
from pages.ui.decoding.visited_translations import VisitedTranslation, decoded_text, origin
from pages.ui.params.decoding import DecodingParams
from pages.ui.text.number_format import rounded
from transformer.decoding.texts import MAX_TOKENS
from transformer.text.languages import LANGUAGES
from transformer.text.tokenizer import END, START
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.translation import HypothesisState

TEXT = "The old man is reading a newspaper."


def reported(shipped, traced, params=None, remaining=None):
    params = params or DecodingParams()
    ids = tuple(token.id for token in traced.translation.tokens)
    own = VisitedTranslation(ids, traced.translation.text, float(traced.trace.log_probs.sum()), params)
    return unpack(
        decoding_payload(traced, remaining or [own], params, shipped.tokenizer, {"number": 1}, (2, 3), LANGUAGES)
    )


def test_browser_receives_every_attention_weight_of_a_decoding(shipped):
    traced = shipped.trace_decoding(TEXT, DecodingSettings())
    header, codes = reported(shipped, traced)
    trace = traced.trace
    size, width = trace.cross.shape[-2:]
    planes = header["layers"] * header["heads"] + 1
    decoder, cross = codes[: planes * size * size].reshape(planes, size, size), codes[planes * size * size :]
    cross = cross.reshape(planes, size, width)
    np.testing.assert_array_equal(decoder == 65_535, np.broadcast_to(~trace.decoder_mask, decoder.shape))
    weights = np.clip((cross - 2.5) / 60_000, 0, 1)
    np.testing.assert_allclose(weights[:-1], trace.cross.reshape(-1, size, width), atol=1e-5)
    np.testing.assert_allclose(weights[-1], trace.cross.mean((0, 1)), atol=1e-5)
    assert (cross[:-1] // 6 / 10_000 == rounded(trace.cross).reshape(-1, size, width)).all()


def test_every_decoding_step_in_the_payload_matches_the_trace(shipped):
    traced = shipped.trace_decoding(TEXT, DecodingSettings())
    header, _ = reported(shipped, traced)
    assert header["read"][0] == "<s> start" and header["source"][-1] == "</s> end"
    assert len(header["steps"]) == len(header["read"]) == len(traced.translation.tokens)
    for row, step in enumerate(header["steps"]):
        assert step["logProb"] == pytest.approx(traced.trace.log_probs[row], abs=1e-6)
        assert [token for token, _, _ in step["candidates"]] == traced.trace.candidate_ids[row].tolist()
        assert step["candidates"][0][0] == step["id"] and step["rank"] == 1 and not step["forced"]
        last = step["layers"][-1]
        assert last["logProb"] == step["logProb"]
        assert last["candidates"] == step["candidates"][: len(last["candidates"])]


def test_alternative_translations_state_where_they_diverge(shipped):
    first = shipped.trace_decoding(TEXT, DecodingSettings())
    ids = tuple(token.id for token in first.translation.tokens)
    second = int(first.trace.candidate_ids[3, 1])
    other = shipped.trace_decoding(TEXT, DecodingSettings(), prefix=(*ids[:3], second))
    others = tuple(token.id for token in other.translation.tokens)
    remaining = [
        VisitedTranslation(ids, first.translation.text, -1.0, DecodingParams()),
        VisitedTranslation(others, other.translation.text, -2.0, DecodingParams(forced=(*ids[:3], second))),
    ]
    assert remaining[1].differs_from(remaining[0]) == 3 and remaining[0].differs_from(remaining[0]) == len(ids)
    header, _ = reported(shipped, other, DecodingParams(forced=(*ids[:3], second)), remaining)
    own, parted = header["translations"]
    assert (own["common"], own["own"], own["parts"], own["current"]) == (first.translation.text, "", None, False)
    assert parted["common"] + parted["own"] == other.translation.text and parted["parts"] == 3 and parted["current"]
    assert [step["forced"] for step in header["steps"]][:5] == [True] * 4 + [False]


def test_forced_byte_token_is_displayed_as_the_whole_character(shipped):
    byte = shipped.tokenizer.texts.index("<0xF0>")
    traced = shipped.trace_decoding(TEXT, DecodingSettings(), prefix=[byte])
    header, _ = reported(shipped, traced, DecodingParams(forced=(byte,)))
    said, written = header["forced"], traced.translation.text.lstrip()
    assert "\ufffd" not in written and said == {"text": written[0], "count": 1, "given": False}


def test_browser_receives_the_nodes_and_scores_of_the_search_tree(shipped):
    traced = shipped.trace_decoding(TEXT, DecodingSettings("beam", beam_size=3))
    header, _ = reported(shipped, traced, DecodingParams(method="beam", beam_size=3, node=4))
    sent, tree = header["tree"], traced.translation.tree
    shown = shown_nodes(tree, 3)
    assert len(sent["nodes"]) == len(shown) == len(tree.nodes) - sent["left"] < len(tree.nodes)
    assert [sent["nodes"][index]["id"] for index in sent["best"]] == [token.id for token in traced.translation.tokens]
    for index, node in zip(shown, sent["nodes"], strict=True):
        own = tree.nodes[index]
        assert node["fate"] == own.fate.name.lower() and node["score"] == pytest.approx(own.score, abs=1e-6)
        before = 0.0 if node["parent"] is None else sent["nodes"][node["parent"]]["score"]
        assert before + node["logProb"] == pytest.approx(node["score"], abs=1e-5)
    pruned = [node.step for node in (tree.nodes[index] for index in shown) if node.fate == HypothesisState.PRUNED]
    assert max(pruned.count(step) for step in set(pruned)) == 3
    decoder, cross = tree.attention(shown[3])
    assert sent["rows"]["cross"] == rounded(cross[2, 3]).tolist()
    assert sent["rows"]["decoder"] == rounded(decoder[2, 3]).tolist()


def test_nonexistent_tree_node_has_no_attention_rows(shipped):
    traced = shipped.trace_decoding(TEXT, DecodingSettings("beam", beam_size=2))
    assert reported(shipped, traced, DecodingParams(method="beam", beam_size=2, node=9999))[0]["tree"]["rows"] is None


def test_typed_word_becomes_forced_tokens(shipped):
    tokenizer = shipped.tokenizer
    word = tuple(tokenizer.encode_ids("Hund", end=False))
    typed = {"forced": [403], "step": 1, "method": "beam", "text": " Hund "}

    def continued(typed):
        return with_typed(typed, tokenizer, lambda text: tokenizer.encode_ids(text, end=False), DecodingParams)

    assert continued(typed) == DecodingParams(step=1, method="beam", forced=(403, *word))
    assert continued({"forced": [403, START], "text": "Hund"}).forced == word
    assert continued({"forced": "x", "text": "Hund", "step": -4}) == DecodingParams(forced=word)
    for nothing in (None, [], "Hund", {}, {"text": 3}, {"text": " "}, {"text": "\x00"}):
        assert continued(nothing) is None
    assert len(continued({"text": "Hund " * 10**5}).forced) == MAX_TOKENS + 1
    assert END not in continued({"text": "</s>"}).forced


def test_page_reports_a_translation_whose_text_is_tokenized_differently(shipped):
    tokenizer = shipped.tokenizer
    own = shipped.trace_decoding(TEXT, DecodingSettings())
    assert origin(decoded_text(own), DecodingParams(), tokenizer) == "greedy decoding"
    letters = tuple(tokenizer.texts.index(letter) for letter in ("▁", "D", "e", "r"))
    spelt = shipped.trace_decoding(TEXT, DecodingSettings(), prefix=letters)
    assert tokenizer.encode_ids(spelt.translation.text) != [token.id for token in spelt.translation.tokens]
    params = DecodingParams(forced=letters)
    assert origin(decoded_text(spelt), params, tokenizer).startswith(
        f"{params.in_words}; tokenizing the translation again"
    )


def test_empty_translation_is_marked_as_unreadable(shipped):
    assert reported(shipped, shipped.trace_decoding(TEXT, DecodingSettings()))[0]["readable"]
    ended = shipped.trace_decoding(TEXT, DecodingSettings(), prefix=(END,))
    assert not reported(shipped, ended, DecodingParams(forced=(END,)))[0]["readable"]
