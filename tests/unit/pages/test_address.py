from __future__ import annotations

import re
from dataclasses import fields, replace

import pytest

from pages.ui.address import FROM_ONE, Addressed
from pages.ui.architecture import Architecture
from pages.ui.inside.inspection import Inspection
from pages.ui.positions.encoding import Encoding
from pages.ui.state import KEPT
from transformer.parameters import parameter_table

OTHERS = [
    Encoding(part="matters", length=7, width=64, dimensions=(0, 63), drop=0, offset=-3, kind="encoder"),
    Inspection(part="cell", stage="decoder.cross_attention.weights", kind="cross", score=-1.5, other=0.25, length=9,
               stack="decoder", sublayer="cross_attention"),
    Architecture(d_model=256, heads=4, tied="none", norm="pre", positions="learned", output_bias=True),
]
RUBBISH = [
    "", "0x1", "-", "1e9", "nan", "inf", "²", "٣", "9" * 400, "1.2.3.", "..", "<b>", "true; DROP", "\x00", "-1001",
]

ADDRESSED = [kept for kept in KEPT if issubclass(kept, Addressed)]


def test_every_page_has_names_of_its_own():
    names = [kept.PREFIX + field.name for kept in ADDRESSED for field in fields(kept)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: type(other).__name__)
def test_an_address_gives_it_back(other):
    written = other.to_address()
    assert type(other).from_address(written) == other
    assert all(type(value) is str and name.startswith(other.PREFIX) for name, value in written.items())


@pytest.mark.parametrize("kept", ADDRESSED)
def test_what_is_as_at_first_is_not_written(kept):
    assert kept().to_address() == {} and kept.from_address({}) == kept()


@pytest.mark.parametrize("kept", ADDRESSED)
@pytest.mark.parametrize("value", RUBBISH)
def test_rubbish_is_as_at_first(kept, value):
    first = kept()
    read = kept.from_address({kept.PREFIX + field.name: value for field in fields(kept)})
    for field in fields(kept):
        if field.name == "stage" and re.fullmatch("[a-z_.]{0,60}", value):
            # Which stages there are depends on the model; one that there is not is the first.
            continue
        assert getattr(read, field.name) == getattr(first, field.name), field.name


@pytest.mark.parametrize("kept", ADDRESSED)
def test_numbers_outside_their_limits_are_as_at_first(kept):
    first = kept()
    for field in fields(kept):
        least, most = kept.limits(field.name)
        if least is None or isinstance(field.default, tuple):
            continue
        counted_from = 1 if field.metadata[FROM_ONE] else 0
        for value in (least, most):
            read = kept.from_address({kept.PREFIX + field.name: str(value + counted_from)})
            assert getattr(read, field.name) == value
        for value in (least - 1, most + 1):
            assert kept.from_address({kept.PREFIX + field.name: str(value + counted_from)}) == first


def test_dimensions_that_a_width_does_not_have_are_left_out():
    assert Encoding().shown == (4, 5, 6, 7)
    assert Encoding(width=6).shown == (4, 5)
    assert Encoding(width=3).shown == (0, 1), "an odd width is the even one below it"
    assert Encoding.from_address({"positions_dimensions": "7.7.2"}).dimensions == (7, 2)


def test_what_a_widget_sends_is_checked_too():
    assert Encoding.checked("dimensions", ["0", "63"]) == Encoding.checked("dimensions", [0, 63]) == (0, 63)
    assert Encoding.checked("length", 30) == 30 and Encoding.checked("length", 10_000) is None
    assert Inspection.checked("score", 0.25) == 0.25 and Inspection.checked("score", None) is None
    assert Architecture.checked("output_bias", True) is True and Architecture.checked("norm", "<b>") is None
    assert Encoding.checked("dimensions", []) is None, "at least one"


def test_the_papers_base_model_has_the_numbers_of_the_paper():
    """Reference A23: 18,914,304 in the encoder, 25,224,192 in the decoder, 37,000 shared pieces of 512."""
    config = Architecture().config()
    table = parameter_table(config)
    assert sum(count for part, count in table if part.startswith("encoder")) == 18_914_304
    assert sum(count for part, count in table if part.startswith("decoder")) == 25_224_192
    assert sum(count for _, count in table) == 63_082_496
    assert Architecture.of(replace(config, dropout=0.3)) == Architecture()


def test_values_that_do_not_fit_together_are_named():
    with pytest.raises(ValueError, match="512 is no multiple of 7"):
        Architecture(heads=7).config()
