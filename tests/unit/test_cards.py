"""Cards of strangers fetch nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties import few
from transformer.cards import without_media

PARTS = st.lists(st.sampled_from(["!", "[", "]", "(http://x/y.png)", "<", "b>", "\\", "\n", "a"]), max_size=14)


@pytest.mark.parametrize("card", ["!![](x)[alt](http://x/y.png)", "!<b>[alt](http://x/y.png)", "!<<b>b>[alt](http://x)"])
def test_an_image_that_is_put_together_by_what_is_left_out_is_none(card):
    assert "![" not in without_media(card)
    assert "![" not in without_media(without_media(card))


@few(300)
@given(PARTS)
def test_no_image_is_left_of_anything(parts):
    once = without_media("".join(parts))
    assert "![" not in once and "![" not in without_media(once)


def test_what_an_image_shows_and_a_tag_holds_stays():
    assert without_media("# A card\n\n![pixel](http://x/y.png) <b>bold</b>") == "# A card\n\npixel bold"
