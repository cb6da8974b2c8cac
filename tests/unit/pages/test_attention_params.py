from dataclasses import asdict, replace

from pages.ui.params.attention import AttentionParams, PinParams

FIRST = AttentionParams()
OTHER_HEAD = AttentionParams(layer=3, head=4)
OTHER = AttentionParams(
    layer=3,
    head=6,
    words=False,
    hide=True,
    scale="square root",
    palette="magma",
    look="lines",
    threshold=12,
    metric="entropy",
    rows=(0, 4),
    columns=(7,),
    shift=True,
)


def test_url_and_browser_message_restore_the_attention_settings():
    assert AttentionParams.from_address(OTHER.to_address()) == OTHER
    assert AttentionParams.from_browser(asdict(OTHER)) == OTHER
    assert FIRST.to_address() == {} and AttentionParams.from_address({}) == FIRST


def test_layers_and_heads_count_from_one_in_the_url():
    assert AttentionParams(layer=2).to_address() == {"layer": "3"}
    assert AttentionParams.from_address({"layer": "1", "head": "8"}) == AttentionParams(layer=0, head=7)
    assert AttentionParams(layer=0, head=0).to_address() == {"layer": "1", "head": "1"}, "the first head was chosen"


def test_page_chooses_the_head_if_the_url_names_no_head():
    assert not FIRST.chosen and FIRST.within(6, 8) == FIRST
    assert FIRST.or_at(3, 4) == replace(FIRST, layer=3, head=4) == OTHER_HEAD and OTHER_HEAD.unchosen() == FIRST
    half = AttentionParams.from_address({"layer": "3"})
    assert half.chosen and half.or_at(3, 4) == half and half.within(6, 8) == replace(FIRST, layer=2, head=0)


def test_words_are_shown_unless_tokens_are_requested():
    assert FIRST.words and AttentionParams.from_address({"words": "false"}) == replace(FIRST, words=False)
    assert replace(FIRST, words=False).to_address() == {"words": "false"}


def test_layer_and_head_are_limited_to_those_of_the_model():
    assert AttentionParams(layer=9, head=2).within(6, 8) == AttentionParams(layer=5, head=2)


def test_pins_of_nonexistent_tokens_are_dropped():
    choice = AttentionParams(layer=3, rows=(0, 5, 4), columns=(7, 1), words=True)
    assert choice.pinned_within(5, 7) == replace(choice, rows=(0, 4), columns=(1,))
    assert choice.pinned_within(99, 99) == choice


def test_encoder_pins_survive_a_change_of_translation():
    pins = PinParams(*((number,) for number in range(6)))
    assert pins.for_another_translation() == PinParams(encoder_rows=(0,), encoder_columns=(1,))
    assert pins.for_another_sentence() == PinParams()
