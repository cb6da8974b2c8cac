"""Tests that any URL and any browser message is parsed into valid values or the defaults."""

from dataclasses import fields

from hypothesis import given
from hypothesis import strategies as st

from pages.ui.params.fields import FORMER, Params
from pages.ui.params.state import MAX_ADDRESS, TEXT, State
from tests.properties import few, many
from tests.ui.driver import INVALID_VALUES, UNTRUSTED
from transformer.text.normalisation import replace_surrogates

NAMES = sorted(
    {
        cls.PREFIX + name
        for cls in Params.registered()
        for each in fields(cls)
        for name in (each.name, each.metadata[FORMER])
        if name
    }
)
# Values that at least one parameter accepts. The other generated values may be invalid for every parameter.
KNOWN = sorted(
    {value for cls in Params.registered() for value in cls().to_address().values()}
    | {str(each.default).lower() for cls in Params.registered() for each in fields(cls)}
)
NUMBERS = st.integers(-(10**7), 10**7)
VALUES = st.one_of(
    st.sampled_from([*KNOWN, *INVALID_VALUES, *UNTRUSTED, "true", "false", "encoder", "cross", "decoder"]),
    NUMBERS.map(str),
    NUMBERS.map(lambda number: f"{number / 1000:.3f}"),
    st.text(max_size=30),
    # Up to three hundred numbers, repeated from a short list because Hypothesis draws long lists slowly.
    st.tuples(st.lists(NUMBERS.map(str), max_size=6), st.integers(1, 50)).map(lambda each: ".".join(each[0] * each[1])),
    st.lists(st.integers(0, 30).map(str), max_size=6).map(".".join),
)
ADDRESSES = st.dictionaries(st.one_of(st.sampled_from(NAMES), st.text(max_size=12)), VALUES, max_size=25)
# Any JSON value.
SENT = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | VALUES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


def is_valid(params: Params) -> None:
    """Check that every value is within its limits, and that a URL restores it."""
    for each in fields(params):
        value, (least, most) = getattr(params, each.name), params.limits(each.name)
        numbers = value if isinstance(value, tuple) else (value,)
        if least is not None and value != each.default and all(isinstance(number, int | float) for number in numbers):
            assert all(least <= number <= most for number in numbers), (each.name, value)
        assert type(value) is type(each.default) or value is None or each.default is None, (each.name, value)
    address = params.to_address()
    assert type(params).from_address(address).to_address() == address
    assert all(type(text) is str for text in address.values())


def gives_valid_values(address: dict[str, str]) -> None:
    state = State.from_address({TEXT: "A dog.", **address})
    for cls in Params.registered():
        is_valid(state.of(cls))
        is_valid(state.of(cls).for_another_sentence())
        is_valid(state.of(cls).for_another_translation())
    written = state.to_address()
    assert sum(map(len, written.values())) <= MAX_ADDRESS
    if written:
        assert State.from_address(written).to_address() == written


def is_checked(sent: object, name: str, value: object) -> None:
    for cls in Params.registered():
        names = [each.name for each in fields(cls)]
        is_valid(cls.from_browser(sent))
        is_valid(cls.from_browser({names[0]: value, name: value, names[-1]: sent}))


def keeps_what_is_typed(text: str, target: str, chosen: list[dict[str, str]]) -> None:
    """Check that choices on any page change neither the sentence nor its translation, and that a URL contains both."""
    text, target = replace_surrogates(text), replace_surrogates(target)
    state = State(text=text, target=target)
    for address in chosen:
        state = state.with_params(*(cls.from_address(address) for cls in Params.registered()))
        assert (state.text, state.target) == (text, target)
        again = State.from_address(state.to_address())
        assert (again.text, again.target) == (text, target)
        assert again.to_address() == state.to_address()


test_any_url_gives_valid_values_or_defaults = few(60)(given(address=ADDRESSES)(gives_valid_values))
test_five_thousand_urls_give_valid_values_or_defaults = many(5_000)(given(address=ADDRESSES)(gives_valid_values))
CHOOSING = {"text": st.text(max_size=200), "target": st.text(max_size=200), "chosen": st.lists(ADDRESSES, max_size=3)}
test_any_choices_keep_the_typed_sentence_and_translation = few(40)(given(**CHOOSING)(keeps_what_is_typed))
test_a_thousand_choices_keep_the_typed_sentence_and_translation = many(1_000)(given(**CHOOSING)(keeps_what_is_typed))
SENDING = {"sent": SENT, "name": st.sampled_from([name.rsplit("_", 1)[-1] for name in NAMES]), "value": SENT}
test_any_browser_message_gives_valid_values_or_defaults = few(40)(given(**SENDING)(is_checked))
test_five_thousand_browser_messages_give_valid_values_or_defaults = many(5_000)(given(**SENDING)(is_checked))
