"""What the browser gets of a road is what was computed."""

from __future__ import annotations

import json
import zlib

import numpy as np
import pytest

from pages.ui.decoding.course import Course
from pages.ui.decoding.message import message, shown_nodes
from pages.ui.decoding.roads import Kept
from pages.ui.decoding.steps import with_typed
from pages.ui.payload import decimals
from transformer.road import Fate, Way
from transformer.tokenizer import END, START
from transformer.translator import MAX_PIECES, Translator

TEXT = "The old man is reading a newspaper."


@pytest.fixture(scope="module")
def shipped():
    return Translator.load(device="cpu")


def unpacked(data):
    length = int.from_bytes(data[:4], "little")
    planes = np.frombuffer(zlib.decompress(data[4 + length :]), dtype=np.uint8).reshape(2, -1).astype(int)
    return json.loads(data[4 : 4 + length]), planes[0] + 256 * planes[1]


def told(shipped, road, course=None, kept=None):
    course = course or Course()
    ids = tuple(piece.id for piece in road.found.pieces)
    own = Kept(ids, road.found.text, float(road.trace.log_probs.sum()), course)
    return unpacked(message(road, kept or [own], course, shipped.tokenizer, {"number": 1}, (2, 3)))


def test_every_weight_arrives(shipped):
    road = shipped.road(TEXT, Way())
    header, codes = told(shipped, road)
    trace = road.trace
    size, width = trace.cross.shape[-2:]
    planes = header["layers"] * header["heads"] + 1
    decoder, cross = codes[: planes * size * size].reshape(planes, size, size), codes[planes * size * size :]
    cross = cross.reshape(planes, size, width)
    np.testing.assert_array_equal(decoder == 65_535, np.broadcast_to(~trace.decoder_mask, decoder.shape))
    weights = np.clip((cross - 2.5) / 60_000, 0, 1)
    np.testing.assert_allclose(weights[:-1], trace.cross.reshape(-1, size, width), atol=1e-5)
    np.testing.assert_allclose(weights[-1], trace.cross.mean((0, 1)), atol=1e-5)
    assert (cross[:-1] // 6 / 10_000 == decimals(trace.cross).reshape(-1, size, width)).all()


def test_every_step_says_what_the_model_says(shipped):
    road = shipped.road(TEXT, Way())
    header, _ = told(shipped, road)
    assert header["read"][0] == "<s> start" and header["source"][-1] == "</s> end"
    assert len(header["steps"]) == len(header["read"]) == len(road.found.pieces)
    for row, step in enumerate(header["steps"]):
        assert step["logProb"] == pytest.approx(road.trace.log_probs[row], abs=1e-6)
        assert [piece for piece, _, _ in step["candidates"]] == road.trace.candidate_ids[row].tolist()
        assert step["candidates"][0][0] == step["id"] and step["rank"] == 1 and not step["forced"]
        assert step["layers"][-1]["taken"] == step["logProb"]
        assert step["layers"][-1]["said"] == step["candidates"][: len(step["layers"][-1]["said"])]


def test_roads_say_where_they_part(shipped):
    first = shipped.road(TEXT, Way())
    ids = tuple(piece.id for piece in first.found.pieces)
    second = int(first.trace.candidate_ids[3, 1])
    other = shipped.road(TEXT, Way(), forced=(*ids[:3], second))
    others = tuple(piece.id for piece in other.found.pieces)
    kept = [
        Kept(ids, first.found.text, -1.0, Course()),
        Kept(others, other.found.text, -2.0, Course(forced=(*ids[:3], second))),
    ]
    assert kept[1].parts_from(kept[0]) == 3 and kept[0].parts_from(kept[0]) == len(ids)
    header, _ = told(shipped, other, Course(forced=(*ids[:3], second)), kept)
    own, parted = header["roads"]
    assert (own["common"], own["own"], own["parts"], own["current"]) == (first.found.text, "", None, False)
    assert parted["common"] + parted["own"] == other.found.text and parted["parts"] == 3 and parted["current"]
    assert [step["forced"] for step in header["steps"]][:5] == [True] * 4 + [False]


def test_the_tree_keeps_its_branches(shipped):
    road = shipped.road(TEXT, Way("beam", size=3))
    header, _ = told(shipped, road, Course(method="beam", size=3, node=4))
    sent, tree = header["tree"], road.found.tree
    shown = shown_nodes(tree, 3)
    assert len(sent["nodes"]) == len(shown) == len(tree.nodes) - sent["left"] < len(tree.nodes)
    assert [sent["nodes"][index]["id"] for index in sent["best"]] == [piece.id for piece in road.found.pieces]
    for index, node in zip(shown, sent["nodes"], strict=True):
        own = tree.nodes[index]
        assert node["fate"] == own.fate.name.lower() and node["score"] == pytest.approx(own.score, abs=1e-6)
        before = 0.0 if node["parent"] is None else sent["nodes"][node["parent"]]["score"]
        assert before + node["logProb"] == pytest.approx(node["score"], abs=1e-5)
    pruned = [node.step for node in (tree.nodes[index] for index in shown) if node.fate == Fate.PRUNED]
    assert max(pruned.count(step) for step in set(pruned)) == 3
    decoder, cross = tree.rows(shown[3])
    assert sent["rows"]["cross"] == decimals(cross[2, 3]).tolist()
    assert sent["rows"]["decoder"] == decimals(decoder[2, 3]).tolist()


def test_a_node_that_is_not_there_has_no_rows(shipped):
    road = shipped.road(TEXT, Way("beam", size=2))
    assert told(shipped, road, Course(method="beam", size=2, node=9999))[0]["tree"]["rows"] is None


def test_a_typed_word_becomes_pieces(shipped):
    tokenizer = shipped.tokenizer
    word = tuple(tokenizer.encode_ids("Hund", end=False))
    typed = {"forced": [403], "step": 1, "method": "beam", "text": " Hund "}
    assert with_typed(typed, tokenizer) == Course(step=1, method="beam", forced=(403, *word))
    assert with_typed({"forced": [403, START], "text": "Hund"}, tokenizer).forced == word
    assert with_typed({"forced": "x", "text": "Hund", "step": -4}, tokenizer) == Course(forced=word)
    for nothing in (None, [], "Hund", {}, {"text": 3}, {"text": " "}, {"text": "\x00"}):
        assert with_typed(nothing, tokenizer) is None
    assert len(with_typed({"text": "Hund " * 10**5}, tokenizer).forced) == MAX_PIECES + 1
    assert END not in with_typed({"text": "</s>"}, tokenizer).forced
