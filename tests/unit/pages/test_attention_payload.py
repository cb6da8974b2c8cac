from dataclasses import replace

import numpy as np
import pytest

from attention_atlas.browser.payload import browser_payload, payload
from attention_atlas.browser.wire import MASKED_CODE, STEPS, STEPS_PER_DECIMAL, codes, unpack
from pages.ui.components.attention_browser import browser_message
from pages.ui.params.attention import AttentionParams
from pages.ui.text.number_format import rounded
from transformer.analysis.heads.metrics import head_metrics
from transformer.analysis.view import view_of
from transformer.values.trace import KINDS


@pytest.fixture(scope="module")
def trace(small_translator):
    return small_translator.trace("The old man's dog 🙂 reads.", "Der Hund des alten Mannes liest.")


def unpacked(packed: bytes) -> tuple[dict, np.ndarray]:
    """Return a message's header, and its encoded weights in the shape [layers, heads, queries, keys]."""
    header, sent = unpack(packed)
    return header, sent.reshape([header[name] for name in ("layers", "heads", "queries", "keys")])


def test_encoded_weights_keep_four_decimal_places():
    weights = np.concatenate([np.random.default_rng(5).random(200_000), [0.0, 1.0, 1e-9, 0.99996, 0.5]])
    sent = codes(weights, np.array(True))
    received = np.where(sent <= STEPS_PER_DECIMAL // 2, 0.0, np.minimum(1.0, (sent - 2.5) / STEPS))
    np.testing.assert_array_equal(np.round(received, 4), np.round(rounded(weights), 4))
    assert np.abs(received - weights).max() < 1.7e-5 and received[-5] == 0 and received[-4] == 1
    np.testing.assert_allclose(rounded(weights), weights, atol=0.5001e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_attention_payload_matches_the_trace(trace, kind):
    header, sent = unpacked(payload(trace, kind, {"title": "a title"}))
    assert header["kind"] == kind and header["title"] == "a title"
    mask = trace.mask(kind)
    assert ((sent == MASKED_CODE) == ~mask).all()
    received = undoubled(header, (sent - 2.5) / STEPS)
    np.testing.assert_allclose(received[..., mask], trace.attention(kind)[..., mask], atol=1.7e-5)


def undoubled(header, received):
    """Undo the doubling of small weights as the browser does."""
    doubled = 2.0 ** np.array([int(number, 16) for number in header["doublings"]]).reshape(received.shape[:-1])
    special = np.isin(np.arange(received.shape[-1]), header["special"])
    return np.where(special, received, received / doubled[..., None])


@pytest.mark.parametrize("left", [1.0, 0.5, 0.3, 0.01, 3e-5, 1e-6, 0.0])
def test_rows_with_most_weight_on_the_end_symbol_keep_four_decimal_places(trace, left):
    """If the end symbol is hidden, the remaining weights are scaled up to a sum of 1 and must still be accurate."""
    weights = np.random.default_rng(2).dirichlet(np.ones(trace.encoder.shape[-1] - 1), size=trace.encoder.shape[:-1])
    weights = np.concatenate([left * weights, np.full((*weights.shape[:-1], 1), 1 - left)], axis=-1)
    resting = replace(trace, encoder=weights.astype(np.float32))
    header, sent = unpacked(payload(resting, "encoder", {}))
    received = undoubled(header, np.where(sent <= STEPS_PER_DECIMAL // 2, 0.0, np.minimum(1.0, (sent - 2.5) / STEPS)))
    np.testing.assert_array_equal(np.round(received, 4), np.round(rounded(resting.encoder), 4))
    shown = received[..., :-1, :-1] / np.maximum(received[..., :-1, :-1].sum(-1, keepdims=True), 1e-12)
    view = view_of(resting, "encoder", special=False)
    np.testing.assert_allclose(shown, view.weights, atol=5e-5 if left > 2e-5 else 1e-3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("special", [False, True])
def test_browser_merges_and_hides_tokens_like_the_python_view(trace, kind, words, special):
    """Computes the browser's sums and averages of weights in NumPy, and compares them with the Python view."""
    header, _ = unpacked(payload(trace, kind, {}))
    arrangement = header["arrangements"][("words" if words else "tokens") + ("" if special else "-hidden")]
    view = view_of(trace, kind, words=words, special=special)
    weights = trace.attention(kind)[0, 1]
    merged = np.array(
        [
            [weights[np.ix_(row["positions"], column["positions"])].sum(-1).mean() for column in arrangement["columns"]]
            for row in arrangement["rows"]
        ]
    )
    if arrangement["scaled"]:
        merged /= merged.sum(-1, keepdims=True)
    np.testing.assert_allclose(merged, view.weights[0, 1], atol=1e-6)


def test_payload_of_64_tokens_stays_within_the_size_limit(small_translator):
    """The limit is 420 KiB for 6 layers of 8 heads with random 64 x 64 maps, which hardly compress."""
    trace = small_translator.trace("dog " * 21, "Hund")
    assert len(trace.source_tokens) == 64
    weights = np.random.default_rng(1).random((6, 8, 64, 64)).astype(np.float32)
    message = payload(replace(trace, encoder=weights), "encoder", {})
    assert weights.size * 2 < len(message) < 420 * 1024


@pytest.mark.parametrize("hide", [False, True])
@pytest.mark.parametrize("words", [False, True])
def test_overview_payload_contains_only_the_displayed_tokens_or_words(small_translator, trace, words, hide):
    metrics = head_metrics(trace, "cross", small_translator.tokenizer.scores)
    choice = AttentionParams(layer=0, head=0, words=words, hide=hide)
    whole, small = (unpacked(browser_payload(trace, metrics, vars(choice), glance=glance)) for glance in (False, True))
    shown = ("words" if words else "tokens") + ("-hidden" if hide else "")
    assert small[0].pop("arrangements") == {shown: whole[0].pop("arrangements")[shown]}
    assert small[0] == {**whole[0], "glance": True, "metrics": []}
    np.testing.assert_array_equal(small[1], whole[1])


def test_repeated_attention_message_is_built_only_once(small_translator, trace):
    metrics = head_metrics(trace, "encoder", small_translator.tokenizer.scores)
    other = replace(trace, encoder=trace.encoder[::-1].copy())
    chosen = AttentionParams(layer=1, head=0)
    asked = {
        (each, choice, number, glance): browser_message(each, metrics, choice, number=number, glance=glance)
        for each in (trace, other)
        for choice in (chosen, replace(chosen, head=1))
        for number in (1, 2)
        for glance in (False, True)
    }
    assert len(set(asked.values())) == 16
    for (each, choice, number, glance), message in asked.items():
        assert message == browser_payload(each, metrics, vars(choice), number=number, glance=glance)
        assert browser_message(each, metrics, choice, number=number, glance=glance) is message
