"""Tests that a request body of up to 16 MB is read, and that the server stops reading a larger one at the limit."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from transformer.serving.body import read_body
from transformer.serving.protocol import MAX_BYTES


class Sender:
    """Sends a body in a given number of parts, each with a given number of bytes."""

    def __init__(self, parts: int, size: int) -> None:
        self.left, self._size = parts, size

    async def chunks(self) -> AsyncIterator[bytes]:
        while self.left:
            self.left -= 1
            yield bytes([self.left % 256]) * self._size

    def read(self, announced: int) -> bytes | None:
        return asyncio.run(read_body(announced, self.chunks()))


@pytest.mark.parametrize("announced", [0, MAX_BYTES])
def test_request_body_of_the_maximum_size_is_read(announced):
    assert Sender(2, MAX_BYTES // 2).read(announced) == b"\x01" * (MAX_BYTES // 2) + b"\x00" * (MAX_BYTES // 2)
    assert Sender(0, 1).read(0) == b""


def test_body_with_an_excessive_content_length_is_not_read():
    sender = Sender(1, 1)
    assert sender.read(MAX_BYTES + 1) is None and sender.left == 1


@pytest.mark.parametrize("announced", [0, 5])
def test_body_longer_than_its_content_length_is_rejected_at_the_limit(announced):
    sender = Sender(40, 2**20)
    assert sender.read(announced) is None and sender.left == 40 - 17
