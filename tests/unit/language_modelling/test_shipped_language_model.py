import json

import pytest

from transformer.checkpoints.checkpoint import load_language_model
from transformer.files.paths import LANGUAGE_MODEL
from transformer.language_modelling.continuation import continue_text
from transformer.language_modelling.head_scores import THRESHOLD, copying_heads, head_scores
from transformer.language_modelling.scoring import score_text
from transformer.values.decoding_settings import DecodingSettings

BEGINNINGS = (
    "The cat",
    "I have never",
    "When I was a child,",
    "She opened the door and",
    "Tom and Mary",
    "Do you know",
    "The city of London",
    "If it rains tomorrow,",
    "My favourite",
    "In 1998,",
)
# Log-probabilities of whole texts, in nats.
LOG_PROBS = {
    "The cat sits on the mat.": -26.253,
    "The mat sits on the cat.": -33.401,
    "Did you see him yesterday?": -18.0,
}


@pytest.fixture(scope="module")
def shipped():
    return load_language_model(device="cpu")


@pytest.mark.thorough
@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_shipped_language_model_writes_the_texts_on_its_card(shipped, beginning):
    greedy = continue_text(shipped.model, shipped.tokenizer, beginning, DecodingSettings(), limit=40)
    assert f"| {greedy.text}{'' if greedy.complete else ' …'} |" in shipped.card


@pytest.mark.parametrize("text", LOG_PROBS)
def test_shipped_language_model_reproduces_its_recorded_probabilities(shipped, text):
    assert score_text(shipped.model, shipped.tokenizer, text).log_prob == pytest.approx(LOG_PROBS[text], abs=0.05)


def test_shipped_language_model_is_small_and_states_its_size(shipped):
    assert sum(file.stat().st_size for file in LANGUAGE_MODEL.iterdir()) < 16e6
    assert f"{shipped.parameters:,} parameters" in shipped.card
    assert shipped.curve.count("\n") > 40


def test_copying_scores_of_the_shipped_model_match_its_recorded_scores(shipped):
    recorded = json.loads((LANGUAGE_MODEL / "heads.json").read_text(encoding="utf-8"))
    assert recorded["model"] == shipped.version and recorded["threshold"] == THRESHOLD
    scores = head_scores(shipped.model)
    named = {
        (layer, head) for kind in ("previous", "induction", "duplicate") for layer, head, _ in recorded[kind]["named"]
    }
    assert named == {(layer + 1, head + 1) for layer, head in copying_heads(scores)}
    for kind in ("previous", "induction", "duplicate"):
        for layer, head, score in recorded[kind]["named"]:
            assert getattr(scores, kind)[layer - 1, head - 1] == pytest.approx(score, abs=0.01)
            assert f"{score:.2f} (layer {layer}, head {head})" in shipped.card


def test_repeated_text_is_more_likely_the_second_time(shipped):
    """Induction heads make repeated tokens more likely."""
    text = "The zebra bought seven purple umbrellas near Lisbon."
    once = score_text(shipped.model, shipped.tokenizer, text)
    twice = score_text(shipped.model, shipped.tokenizer, f"{text} {text}")
    assert len(twice.tokens) == 2 * len(once.tokens)
    again = twice.log_probs[len(once.tokens) :]
    assert again.sum() > once.log_prob / 2
