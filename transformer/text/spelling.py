"""Automaton over UTF-8 bytes: it decides which tokens may follow each other to form whole characters."""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import cached_property

# The bytes of an unfinished character, or those of another character if the same bytes may follow them.
State = bytes
# The state between two characters.
WHOLE: State = b""
CONTINUATION = (0x80, 0xBF)
# The range of the next byte after some bytes (Unicode 15, table 3-7). The second byte excludes overlong spellings,
# surrogates, and everything above U+10FFFF. The third excludes U+FFFD, which stands for an invalid character, and
# U+FFFE and U+FFFF, which are not characters.
POSSIBLE = {
    b"\xe0": (0xA0, 0xBF),
    b"\xed": (0x80, 0x9F),
    b"\xf0": (0x90, 0xBF),
    b"\xf4": (0x80, 0x8F),
    b"\xef\xbf": (0x80, 0xBC),
    b"\xef": CONTINUATION,
}
# For each number of missing bytes, one state that represents all states outside POSSIBLE.
ALIKE = {1: b"\xc2", 2: b"\xe1", 3: b"\xf1"}


def spelt_in_part(spelt: bytes) -> bool:
    """Whether the bytes of a token are not a sequence of whole characters."""
    try:
        return "\ufffd" in spelt.decode("utf-8")
    except UnicodeDecodeError:
        return True


class Spelling:
    """Decides which tokens of a vocabulary may follow an unfinished character, and which may begin one.

    Args:
        parts: bytes of every token that is not a sequence of whole characters, by id.

    Attributes:
        parts: ids of these tokens.
    """

    def __init__(self, parts: Mapping[int, bytes]) -> None:
        self._spelt = dict(parts)
        self.parts = frozenset(parts)

    def __bool__(self) -> bool:
        """Whether any token is not a sequence of whole characters; otherwise there is nothing to decide."""
        return bool(self.parts)

    @cached_property
    def _next(self) -> dict[State, dict[int, State]]:
        """For each state, the tokens of `parts` that may follow, and the state after each of them."""
        found: dict[State, dict[int, State]] = {}
        waiting = [WHOLE]
        while waiting:
            state = waiting.pop()
            if state not in found:
                after = {token: _after(state, spelt) for token, spelt in self._spelt.items()}
                found[state] = {token: state for token, state in after.items() if state is not None}
                waiting += found[state].values()
        return found

    def after(self, state: State, token: int) -> State:
        """The state after one more token; a token that breaks a character begins a new one."""
        following = self._next[state].get(token)
        return self._next[WHOLE].get(token, WHOLE) if following is None else following

    def fewest(self, suppressed: Set[int] = frozenset()) -> Mapping[State, int]:
        """The smallest number of tokens that completes the character of each state, without suppressed tokens.

        States that cannot be completed are left out.
        """
        return self._fewest(suppressed) if self.parts & suppressed else self._fewest_of_all

    @cached_property
    def _fewest_of_all(self) -> dict[State, int]:
        return self._fewest(frozenset())

    def _fewest(self, suppressed: Set[int]) -> dict[State, int]:
        fewest = {WHOLE: 0}
        # A character has at most four bytes, and the first of them is already written.
        for count in range(1, 4):
            fewest |= {
                state: count
                for state, following in self._next.items()
                if state not in fewest
                and any(fewest.get(after) == count - 1 for token, after in following.items() if token not in suppressed)
            }
        return fewest

    def following(self, state: State, fewest: Mapping[State, int], left: int) -> frozenset[int]:
        """The tokens of `parts` that may be written in a state, because the character can be completed in time.

        Args:
            fewest: result of `fewest`.
            left: number of tokens that may still be written, including this one.
        """
        return frozenset(
            token for token, after in self._next[state].items() if after in fewest and fewest[after] < left
        )


NO_PARTS = Spelling({})


def _after(state: State, spelt: bytes) -> State | None:
    """The state that some bytes lead to from a state; None if they cannot continue its character in UTF-8."""
    for byte in spelt:
        if not state:
            if 0x80 <= byte < 0xC2 or byte >= 0xF5:
                return None
        else:
            low, high = POSSIBLE.get(state, CONTINUATION)
            if not low <= byte <= high:
                return None
        state += bytes([byte])
        lead = state[0]
        lacking = (lead >= 0xC2) + (lead >= 0xE0) + (lead >= 0xF0) + 1 - len(state)
        if not lacking:
            state = WHOLE
        elif state not in POSSIBLE:
            state = ALIKE[lacking]
    return state
