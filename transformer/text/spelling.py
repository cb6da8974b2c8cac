"""UTF-8 automaton that decides which tokens may come next, so that generated text has only whole characters."""

from collections.abc import Mapping, Set
from functools import cached_property

# Bytes of an unfinished character. Unfinished characters that allow the same continuations share one state.
State = bytes
# State between two characters.
WHOLE: State = b""
CONTINUATION = (0x80, 0xBF)
# Range of the next byte after the first bytes of a character (Unicode 15, table 3-7). The ranges exclude overlong
# encodings, surrogates, and everything above U+10FFFF. They also exclude U+FFFD, which marks invalid characters, and
# the noncharacters U+FFFE and U+FFFF.
CONTINUATIONS = {
    b"\xe0": (0xA0, 0xBF),
    b"\xed": (0x80, 0x9F),
    b"\xf0": (0x90, 0xBF),
    b"\xf4": (0x80, 0x8F),
    b"\xef\xbf": (0x80, 0xBC),
    b"\xef": CONTINUATION,
}
# Representative states for all other unfinished characters, by number of missing bytes.
REPRESENTATIVES = {1: b"\xc2", 2: b"\xe1", 3: b"\xf1"}


def has_partial_character(token_bytes: bytes) -> bool:
    """Whether a token's bytes contain an incomplete character or U+FFFD."""
    try:
        return "\ufffd" in token_bytes.decode("utf-8")
    except UnicodeDecodeError:
        return True


class Spelling:
    """Decides which tokens may continue an unfinished character, and which may begin a new character.

    Args:
        parts: bytes of the tokens that contain an incomplete character, by id.

    Attributes:
        parts: ids of the tokens that contain an incomplete character.
    """

    def __init__(self, parts: Mapping[int, bytes]) -> None:
        self._spelt = dict(parts)
        self.parts = frozenset(parts)

    def __bool__(self) -> bool:
        """Whether any token contains an incomplete character."""
        return bool(self.parts)

    @cached_property
    def _next(self) -> dict[State, dict[int, State]]:
        """For each state, the tokens in `parts` that may follow, mapped to the state after each token."""
        transitions: dict[State, dict[int, State]] = {}
        waiting = [WHOLE]
        while waiting:
            state = waiting.pop()
            if state not in transitions:
                after = {token: _after(state, token_bytes) for token, token_bytes in self._spelt.items()}
                transitions[state] = {token: state for token, state in after.items() if state is not None}
                waiting += transitions[state].values()
        return transitions

    def after(self, state: State, token: int) -> State:
        """Return the state after `token`. A token that cannot continue the current character begins a new character."""
        following = self._next[state].get(token)
        return self._next[WHOLE].get(token, WHOLE) if following is None else following

    def fewest_tokens(self, suppressed: Set[int] = frozenset()) -> Mapping[State, int]:
        """Return, for each state, the smallest number of tokens that can complete the unfinished character.

        Suppressed tokens are not used. States that cannot be completed are omitted.
        """
        return self._fewest(suppressed) if self.parts & suppressed else self._fewest_of_all

    @cached_property
    def _fewest_of_all(self) -> dict[State, int]:
        return self._fewest(frozenset())

    def _fewest(self, suppressed: Set[int]) -> dict[State, int]:
        fewest = {WHOLE: 0}
        # A character has at most four bytes, and at least the first one is already written.
        for count in range(1, 4):
            fewest |= {
                state: count
                for state, following in self._next.items()
                if state not in fewest
                and any(fewest.get(after) == count - 1 for token, after in following.items() if token not in suppressed)
            }
        return fewest

    def following(self, state: State, fewest: Mapping[State, int], limit: int) -> frozenset[int]:
        """Return the tokens in `parts` that can come next if the character must be completed within `limit` tokens.

        Args:
            state: state before the next token.
            fewest: result of `fewest_tokens`.
            limit: number of tokens that may still be written, including the next one.
        """
        return frozenset(
            token for token, after in self._next[state].items() if after in fewest and fewest[after] < limit
        )


NO_PARTS = Spelling({})


def _after(state: State, token_bytes: bytes) -> State | None:
    """Return the state after the bytes `token_bytes`, or None if the bytes are invalid UTF-8 in the given state."""
    for byte in token_bytes:
        if not state:
            if 0x80 <= byte < 0xC2 or byte >= 0xF5:
                return None
        else:
            low, high = CONTINUATIONS.get(state, CONTINUATION)
            if not low <= byte <= high:
                return None
        state += bytes([byte])
        lead = state[0]
        lacking = (lead >= 0xC2) + (lead >= 0xE0) + (lead >= 0xF0) + 1 - len(state)
        if not lacking:
            state = WHOLE
        elif state not in CONTINUATIONS:
            state = REPRESENTATIVES[lacking]
    return state
