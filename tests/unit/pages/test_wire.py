import zlib

import numpy as np
import pytest

from attention_atlas.browser.wire import MASKED_CODE, codes, frame, pack, unframe, unpack, with_fields


def test_packed_message_unpacks_to_the_same_content():
    header = {"text": "für \U0001f642 \udcff", "numbers": [1, 2.5, None]}
    numbers = np.random.default_rng(0).integers(0, 2**16, (3, 5, 7), dtype=np.uint16)
    received, sent = unpack(pack(header, numbers))
    assert received == header
    np.testing.assert_array_equal(sent, numbers.ravel())
    assert unframe(frame(header, b"body")) == (header, b"body")


def test_adding_a_header_field_keeps_the_rest_of_a_message():
    message = frame({"text": "für", "more": {}}, b"body")
    assert unframe(with_fields(message, lecture=True)) == ({"text": "für", "more": {}, "lecture": True}, b"body")


def test_message_format_has_the_documented_bytes():
    """A message starts with the header's length, in four bytes (little-endian), and the header as JSON. The numbers
    follow, compressed by zlib: first all low bytes, then all high bytes.
    """
    assert frame({"a": 1}, b"xyz") == b'\x08\x00\x00\x00{"a": 1}xyz'
    assert zlib.decompress(unframe(pack({}, np.array([0x0102, 0x0304], dtype=np.uint16)))[1]) == b"\x02\x04\x01\x03"


def test_masked_cell_has_a_reserved_code():
    weights = np.array([[0.0, 1.0]])
    assert codes(weights, np.array([[True, True]])).max() < MASKED_CODE
    assert (codes(weights, np.array([[False, False]])) == MASKED_CODE).all()


def test_message_header_with_nan_raises_an_error():
    with pytest.raises(ValueError, match="JSON"):
        frame({"weight": float("nan")}, b"")
