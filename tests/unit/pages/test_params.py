import re
from dataclasses import fields, replace
from itertools import product
from urllib.parse import urlencode

import pytest

from pages.ui.params.architecture import ArchitectureParams
from pages.ui.params.attention import AttentionParams
from pages.ui.params.backpropagation import BackpropagationParams
from pages.ui.params.change_attention import EditParams
from pages.ui.params.compare_heads import UNTRAINED, CompareParams
from pages.ui.params.decoding import DecodingParams
from pages.ui.params.fields import FROM_ONE, Params
from pages.ui.params.inside_a_layer import InsideParams
from pages.ui.params.language_model import ContinuationParams, LanguageModelParams, TextHeadParams
from pages.ui.params.long_texts import LongTextsParams
from pages.ui.params.patch import PatchParams
from pages.ui.params.positional_encoding import PositionsParams
from pages.ui.params.sentence_list import ListParams
from pages.ui.params.state import EXAMPLES, MAX_ADDRESS, State
from pages.ui.params.training_lab import LabParams
from pages.ui.params.your_own_attention import NAME as FILE
from pages.ui.params.your_own_attention import OwnParams
from transformer.checkpoints.available_models import NAME
from transformer.model.parameter_counts import parameter_table

OTHERS = [
    PositionsParams(part="shuffled", length=7, width=64, dimensions=(0, 63), drop=0, offset=-3, kind="encoder"),
    InsideParams(
        part="cell",
        stage="decoder.cross_attention.weights",
        kind="cross",
        score=-1.5,
        other=0.25,
        length=9,
        stack="decoder",
        sublayer="cross_attention",
    ),
    LanguageModelParams(model="tiny", part="likely", text="", length=3, first="a\nb=&?", second="日本"),
    ContinuationParams(method="sample", seed=7, step=2, forced=(4, 4), top_p=0.5),
    TextHeadParams(layer=1, head=2, rows=(3,), words=False),
    LongTextsParams(part="cost", text="a\nb=&?", attention="local", layer=1, head=1, quantity="seconds"),
    ArchitectureParams(d_model=256, heads=4, tied="none", norm="pre", positions="learned", output_bias=True),
]
INVALID_VALUES = [
    "",
    "0x1",
    "-",
    "1e9",
    "nan",
    "inf",
    "²",
    "٣",
    "9" * 400,
    "1.2.3.",
    "..",
    "<b>",
    "true; DROP",
    "\x00",
    "-1001",
]

ADDRESSED = Params.registered()
# Fields that accept any text.
TYPED = ("text", "first", "second", "sentences")


def test_url_parameter_names_are_unique():
    names = [cls.PREFIX + field.name for cls in ADDRESSED for field in fields(cls)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: type(other).__name__)
def test_url_restores_the_parameters(other):
    written = other.to_address()
    assert type(other).from_address(written) == other
    assert all(type(value) is str and name.startswith(other.PREFIX) for name, value in written.items())


@pytest.mark.parametrize("number", [1e-6, 0.00001, 0.000123, 0.1, 2.5])
def test_url_restores_decimal_numbers_exactly(number):
    for cls, each in [(page, each) for page in ADDRESSED for each in fields(page)]:
        lowest, highest = cls.limits(each.name)
        if isinstance(each.default, float) and lowest <= number <= highest:
            assert cls.checked(each.name, number) == number
            other = replace(cls(), **{each.name: number})
            assert cls.from_address(other.to_address()) == other


@pytest.mark.parametrize("cls", ADDRESSED)
def test_default_values_are_omitted_from_the_url(cls):
    assert cls().to_address() == {} and cls.from_address({}) == cls()


@pytest.mark.parametrize("cls", ADDRESSED)
def test_invalid_url_value_falls_back_to_the_default(cls):
    first = cls()
    for value, field in product(INVALID_VALUES, fields(cls)):
        read = cls.from_address({cls.PREFIX + each.name: value for each in fields(cls)})
        if field.name in ("stage", "metric") and re.fullmatch("[a-z_.]{1,60}", value):
            # Valid stages and metrics depend on the model, so the page checks them.
            continue
        if cls is LabParams and field.name == "item" and re.fullmatch("[a-p]{1,40}", value):
            # These letters are valid in a task item.
            continue
        if cls in (LanguageModelParams, LongTextsParams, ListParams) and field.name in TYPED:
            # Any text is valid.
            assert getattr(read, field.name) == value
            continue
        if cls is PatchParams and field.name == "other":
            # Any sentence is valid.
            continue
        names = FILE if cls is OwnParams else f"{UNTRAINED}|{NAME.pattern}"
        if field.name in ("model", "other", "file") and re.fullmatch(names, value):
            # Any name is valid. The page reports a missing folder or file.
            continue
        if cls is EditParams and field.name == "edits":
            # Invalid edits are dropped, and the page reports them.
            assert read.edits.unreadable and not read.edits.edits
            continue
        assert getattr(read, field.name) == getattr(first, field.name), (field.name, value)


@pytest.mark.parametrize(
    ("cls", "value"),
    [
        (AttentionParams, "x"),
        (AttentionParams, {"layer": True}),
        (AttentionParams, {"layer": 1.5}),
        (AttentionParams, {"rows": [True]}),
        (AttentionParams, {"rows": "12"}),
        (AttentionParams, {"scale": []}),
        (AttentionParams, {"metric": "a b"}),
        (AttentionParams, {"columns": list(range(1001))}),
        (DecodingParams, {"step": -1}),
        (DecodingParams, {"method": "beams"}),
        (DecodingParams, {"beam_size": 11}),
        (DecodingParams, {"temperature": float("nan")}),
        (DecodingParams, {"temperature": "1"}),
        (DecodingParams, {"forced": [1] * 1001}),
    ],
)
def test_invalid_browser_message_falls_back_to_defaults(cls, value):
    """See tests/unit/robustness/test_any_address.py for arbitrary messages to all pages."""
    assert cls.from_browser(value) == cls()


@pytest.mark.parametrize("cls", ADDRESSED)
def test_numbers_out_of_range_fall_back_to_the_default(cls):
    first = cls()
    for field in fields(cls):
        least, most = cls.limits(field.name)
        if least is None or isinstance(field.default, tuple):
            continue
        counted_from = 1 if field.metadata[FROM_ONE] else 0
        for value in (least, most):
            read = cls.from_address({cls.PREFIX + field.name: str(value + counted_from)})
            assert getattr(read, field.name) == value
        for value in (least - 1, most + 1):
            assert cls.from_address({cls.PREFIX + field.name: str(value + counted_from)}) == first


def test_position_curves_of_nonexistent_dimensions_are_omitted():
    assert PositionsParams().shown == (4, 5, 6, 7)
    assert PositionsParams(width=6).shown == (4, 5)
    assert PositionsParams(width=3).shown == (0, 1), "an odd width is the even one below it"
    assert PositionsParams.from_address({"positions_dimensions": "7.7.2"}).dimensions == (7, 2)


def test_widget_values_are_validated_like_url_values():
    assert PositionsParams.checked("dimensions", ["0", "63"]) == (0, 63)
    assert PositionsParams.checked("dimensions", [0, 63]) == (0, 63)
    assert PositionsParams.checked("length", 30) == 30 and PositionsParams.checked("length", 10_000) is None
    assert InsideParams.checked("score", 0.25) == 0.25 and InsideParams.checked("score", None) is None
    assert ArchitectureParams.checked("output_bias", True) is True and ArchitectureParams.checked("norm", "<b>") is None
    assert PositionsParams.checked("dimensions", []) is None, "at least one"


def test_parameter_counts_of_the_base_model_match_the_paper():
    """The encoder has 18,914,304 parameters, the decoder 25,224,192, and the shared embedding 37,000 x 512."""
    config = ArchitectureParams().config()
    table = parameter_table(config)
    assert sum(count for part, count in table if part.startswith("encoder")) == 18_914_304
    assert sum(count for part, count in table if part.startswith("decoder")) == 25_224_192
    assert sum(count for _, count in table) == 63_082_496
    assert ArchitectureParams.of(replace(config, dropout=0.3)) == ArchitectureParams()


def test_contradictory_architecture_settings_raise_an_error():
    with pytest.raises(ValueError, match="512 is not a multiple of 7"):
        ArchitectureParams(heads=7).config()


@pytest.mark.parametrize(
    ("address", "now"),
    [
        ({"inside_part": "way"}, InsideParams(part="stages")),
        ({"compare_part": "versus"}, CompareParams(part="two_heads")),
        ({"backward_part": "walk"}, BackpropagationParams(part="gradients")),
        ({"positions_part": "measures"}, PositionsParams(part="distances")),
        ({"positions_part": "others"}, PositionsParams(part="alternatives")),
        ({"positions_part": "matters"}, PositionsParams(part="shuffled")),
        (
            {"method": "beam", "size": "3", "alpha": "1.5"},
            DecodingParams(method="beam", beam_size=3, length_penalty=1.5),
        ),
        ({"never": "5.290", "forced": "362"}, DecodingParams(suppressed=(5, 290), forced=(362,))),
    ],
)
def test_url_with_an_old_parameter_name_is_still_read(address, now):
    assert type(now).from_address(address) == now
    assert type(now).from_address(now.to_address()) == now


def test_parameters_of_a_new_page_are_registered_automatically():
    """Importing a module that defines parameters adds these parameters to the URL."""
    assert CompareParams in Params.registered() and all(cls in State().params for cls in Params.registered())
    assert State().to_address() == {"text": EXAMPLES[0]}


def test_text_too_long_for_the_model_stays_in_the_url():
    typed = "word " * 1000
    state = State(text="A dog.").with_params(LanguageModelParams(text=typed, part="steps"))
    assert State.from_address(state.to_address()) == state


@pytest.mark.parametrize("letters", ["word ", "語", "🙂", "e\u0301 ", "%"])
def test_text_too_long_for_a_url_is_truncated(letters):
    typed, other = letters * 30_000, letters * 20_000
    state = State(text="A dog.", target=other).with_params(LanguageModelParams(text=typed, first="Ein Hund."))
    address = state.to_address()
    assert 0.9 * MAX_ADDRESS < len(urlencode(address)) <= MAX_ADDRESS
    again = State.from_address(address)
    found = again.of(LanguageModelParams)
    assert again.text == "A dog." and found.first == "Ein Hund."
    for cut, whole in ((found.text, typed), (again.target, other)):
        assert len(cut) > 300 and whole.startswith(cut)
    assert again.to_address() == address, "it is cut once"
    assert state.page_address() == {}, "nothing is offered to others that would be another text"
