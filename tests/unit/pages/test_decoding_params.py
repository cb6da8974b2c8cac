from dataclasses import asdict

from pages.ui.params.decoding import DecodingParams
from transformer.text.tokenizer import END, PAD, START
from transformer.values.decoding_settings import DecodingSettings

FIRST = DecodingParams()
OTHER = DecodingParams(
    step=4,
    show="mean",
    method="sample",
    beam_size=7,
    length_penalty=1.25,
    temperature=0.5,
    top_k=40,
    top_p=0.95,
    seed=12,
    forced=(362, 786),
    suppressed=(5, 290),
    node=3,
    search=True,
)


def test_url_and_browser_message_restore_the_decoding_settings():
    assert DecodingParams.from_address(OTHER.to_address()) == OTHER
    assert DecodingParams.from_browser(asdict(OTHER)) == OTHER
    assert FIRST.to_address() == {} and DecodingParams.from_address({}) == FIRST


def test_decoding_steps_count_from_one_in_the_url():
    assert DecodingParams(step=2).to_address() == {"step": "3"}
    assert DecodingParams.from_address({"step": "1"}) == FIRST == DecodingParams.from_address({"step": "0"})


def test_integer_from_the_browser_is_accepted_as_a_decimal_number():
    expected = DecodingParams(temperature=2.0, length_penalty=0.0)
    assert DecodingParams.from_browser({"temperature": 2, "length_penalty": 0}) == expected
    other = DecodingParams(length_penalty=1.0)
    assert DecodingParams.from_address(other.to_address()) == other


def test_invalid_forced_tokens_are_dropped():
    assert DecodingParams(forced=(7, 9)).within(8).forced == ()
    assert DecodingParams(forced=(7, PAD)).within(8).forced == DecodingParams(forced=(START,)).within(8).forced == ()
    assert DecodingParams(forced=(7, END, 6, PAD)).within(8).forced == (7, END), "nothing stands behind the end"
    assert DecodingParams(suppressed=(9, 5, 5, 4)).within(8).suppressed == (4, 5)


def test_settings_of_unused_decoding_methods_are_ignored():
    assert DecodingParams(beam_size=9, temperature=3.0).settings == DecodingSettings()
    assert DecodingParams(seed=3).settings == DecodingSettings()
    assert DecodingParams(method="beam", beam_size=9, seed=3).settings == DecodingSettings("beam", beam_size=9)
    sample = DecodingParams(method="sample", seed=3, length_penalty=2.0)
    assert sample.settings == DecodingSettings("sample", seed=3, temperature=0.7)


def test_new_sentence_keeps_the_decoding_settings_but_not_the_forced_tokens():
    start = OTHER.for_another_sentence()
    assert (start.forced, start.suppressed, start.step, start.node) == ((), (), 0, 0) and start.free
    assert start.settings == OTHER.settings and start.show == OTHER.show


def test_decoding_settings_are_described_in_words():
    assert DecodingParams().in_words == "greedy decoding"
    assert DecodingParams(method="beam", length_penalty=0.0).in_words == "a beam of 4, length penalty 0"
    assert DecodingParams(method="sample", seed=7).in_words == "sampling at temperature 0.7, seed 7"
    assert OTHER.in_words == (
        "sampling at temperature 0.5, top-k 40, top-p 0.95, seed 12, first 2 tokens forced, 2 tokens banned"
    )
    both = DecodingParams(forced=(7,), suppressed=(8,))
    assert both.in_words == "greedy decoding, first token forced, 1 token banned"
