import pytest
from streamlit.testing.v1 import AppTest

from attention_atlas.browser.wire import unframe
from pages.ui.params.decoding import SHOWS
from tests.ui import driver
from transformer.running.translator import Translator
from transformer.values.decoding_settings import METHODS, DecodingSettings

PAGE = "pages/decoding.py"
TEXT = "I have a dream."


def opened(**address: str) -> AppTest:
    return driver.opened(PAGE, **{"text": TEXT, **address})


def reported(test: AppTest) -> dict:
    """Return the header of the message that the browser received."""
    assert not test.exception and not test.error
    (node,) = (node for node in test.get("bidi_component") if node.proto.bytes)
    return unframe(node.proto.bytes)[0]


def ids(header: dict) -> list[int]:
    return [step["id"] for step in header["steps"]]


@pytest.mark.parametrize("method", METHODS)
def test_every_decoding_method_shows_its_own_translation(shipped, method):
    header = reported(opened(method=method, beam_size="3", seed="4", temperature="1.5", step="2"))
    settings = {"beam": {"beam_size": 3}, "sample": {"seed": 4, "temperature": 1.5}}.get(method, {})
    found = shipped.translate(TEXT, DecodingSettings(method, **settings))
    assert ids(header) == [token.id for token in found.tokens]
    assert (header["tree"] is not None) == (method == "beam")
    assert header["asked"]["params"]["step"] == 1


@pytest.mark.parametrize("show", SHOWS)
def test_chosen_head_is_shared_with_other_pages(show):
    test = opened(show=show, layer="3", head="5")
    params = reported(test)["asked"]["params"]
    assert (params["layer"], params["head"], params["show"]) == (2, 4, show)
    test.switch_page("pages/cross_attention.py").run()
    assert not test.exception and test.query_params["layer"] == "3"


def test_translation_begins_with_the_forced_tokens_in_the_url(shipped):
    own = reported(opened())
    second = own["steps"][2]["candidates"][1][0]
    forced = ".".join(map(str, [*ids(own)[:2], second]))
    test = opened(forced=forced, step="3")
    header = reported(test)
    assert ids(header)[:3] == [*ids(own)[:2], second] and ids(header) != ids(own)
    assert [traced["current"] for traced in header["translations"]] == [False, True]
    assert header["translations"][1]["parts"] == 2 and test.query_params["forced"] == forced
    again = reported(test.run())
    assert again["asked"] == header["asked"] and again["translations"] == header["translations"]


def test_banned_token_is_not_written(shipped):
    own = reported(opened())
    header = reported(opened(suppressed=str(ids(own)[2])))
    assert ids(own)[2] not in ids(header) and header["suppressed"][0][0] == ids(own)[2]


def test_decoding_page_forces_the_user_translation(shipped):
    test = opened(target="Ich habe einen Hund.")
    header = reported(test)
    assert ids(header) == shipped.tokenizer.encode_ids("Ich habe einen Hund.")
    assert all(step["forced"] for step in header["steps"])
    first, current = header["translations"]
    assert current["current"] and current["how"] == "given" and first["params"]["forced"] == []
    back = reported(opened(target="Ich habe einen Hund.", search="true"))
    assert ids(back) == [token.id for token in shipped.translate(TEXT, DecodingSettings()).tokens]
    assert back["translations"][0]["current"]
    other = reported(opened(target="Ich habe einen Hund.", forced=str(header["steps"][0]["candidates"][1][0])))
    assert ids(other) != ids(header), "another translation may begin there"


def test_forced_prefix_is_reported_for_every_method(shipped):
    own = reported(opened())
    forced = [*ids(own)[:2], own["steps"][2]["candidates"][1][0]]
    for method in METHODS:
        header = reported(opened(forced=".".join(map(str, forced)), method=method))
        assert header["forced"] == {"text": shipped.tokenizer.decode(forced), "count": 3, "given": False}
    assert own["forced"] is None
    assert reported(opened(target="Ich habe einen Hund."))["forced"]["given"]


def test_user_translation_is_not_forced_during_a_search(shipped):
    sampled = shipped.translate(TEXT, DecodingSettings("sample", temperature=2.0, seed=2))
    settings = {"target": sampled.text, "method": "sample", "temperature": "2", "seed": "2"}
    header = reported(opened(**settings, search="true"))
    assert ids(header) == [token.id for token in sampled.tokens]
    assert not any(step["forced"] for step in header["steps"]) and header["forced"] is None
    assert [traced["read"] for traced in header["translations"]] == [False, True]
    walked = reported(opened(**settings))
    assert all(step["forced"] for step in walked["steps"]), "a link to a translation walks along it"


def test_too_long_forced_prefix_is_reported():
    test = opened(forced=".".join(["362"] * 200))
    assert "at most 128" in test.warning[0].value
    assert reported(test)["params"]["forced"] == []


def test_changing_the_step_needs_no_forward_pass(monkeypatch):
    test = opened(text="A sentence for walking along.")
    count = len(reported(test)["steps"])

    def fail(*args, **kwargs):
        raise AssertionError("the model ran again")

    monkeypatch.setattr(Translator, "answer", fail)
    for step in range(count):
        test.query_params["step"] = str(step + 1)
        assert reported(test.run())["asked"]["params"]["step"] == step


def test_methods_are_compared_only_after_the_section_is_opened(shipped, monkeypatch):
    test = opened()
    assert not test.dataframe
    test.session_state["ways"] = True
    test.run()
    assert not test.exception
    (table,) = test.dataframe
    assert list(table.value["German"])[0] == shipped.translate(TEXT, DecodingSettings()).text and len(table.value) == 5
    assert (table.value["log-probability"] < 0).all()
    # No durations are shown, because a single run of such a short search says little about a method's speed.
    assert "ms" not in table.value and "Times are not shown" in "".join(caption.value for caption in test.caption)
    assert list(table.value["hypotheses"]) == [1, 4, 1, 1, 1]
