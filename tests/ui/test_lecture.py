import pytest

from pages.ui.params.lecture import LectureParams
from pages.ui.params.pages import FIRST
from pages.ui.params.slides import Slide, Slides
from tests.ui.driver import DREAM, headers, healthy, messages, opened, send, texts
from transformer.experiments.experiment import Experiment

SLIDES = Slides(
    (
        Slide.of("cross_attention", {"text": "It was too tired.", "layer": "5", "head": "3"}),
        Slide.of("encoder_attention", {"text": "It was too tired.", "layer": "2", "head": "1", "encoder_rows": "1"}),
        Slide.of("lessons", {"text": DREAM, "lesson_id": "one_row", "lesson_step": "4", "lesson_answer": "shown"}),
    )
)
LISTED = {"slides": str(SLIDES)}


def bar(test):
    """Return the component with the lecturer's controls."""
    return messages(test, "stepped")[0][0]


def received(test):
    return messages(test, "stepped")[0][1]


def act(test, what, **more):
    """Send an action from the lecturer's controls. If the action opens a slide that changes the page twice, AppTest
    follows only the first change.
    """
    send(test, bar(test), "act", {"what": what, **more})
    return test


def shown(test):
    return headers(test)[0]["asked"]["choice"]


def parameter(test, name):
    value = test.query_params.get(name)
    return value[0] if isinstance(value, list) else value


def test_new_slide_stores_the_experiment_of_the_displayed_page():
    test = act(opened("pages/how_it_came_about.py", text=DREAM), "add")
    address, carried = received(test)["file"].splitlines()[1:]
    assert address.startswith("how_it_came_about?") and carried.startswith("# ")
    experiment = Experiment.read(carried.encode())
    assert experiment.page == str(Slide.read(address)) and experiment.parts[0].claims
    act(test, "title", slide=1, text="A dream")
    assert carried in received(test)["file"].splitlines(), "the list is that of the session"


@pytest.mark.thorough
def test_lesson_table_has_large_text_in_lecture_mode():
    """Outside lecture mode, the table is drawn on a canvas, with text too small for the last row of a lecture hall."""
    step = {"lesson_id": "query_key_value", "lesson_answer": "shown"}
    test = opened("pages/lessons.py", **step)
    assert healthy(test) and len(test.dataframe) == 1 and not test.table
    test = opened("pages/lessons.py", lecture="true", **step)
    (table,) = test.table
    assert healthy(test) and not test.dataframe
    assert table.value.iloc[0].tolist() == ["first", "112", "0.538", "14.000", "0.881"]


@pytest.mark.parametrize("page", ["encoder_attention", "masked_attention", "cross_attention"])
def test_presented_map_is_restored_from_the_url(page):
    test = opened(f"pages/{page}.py", text=DREAM, layer="2", head="5", lecture="true")
    assert headers(test)[0]["lecture"]
    assert (shown(test)["layer"], shown(test)["head"]) == (1, 4)
    assert "lecture" not in headers(act(test, "leave"))[0]


def test_slide_stores_only_parameters_of_its_own_page():
    """A session keeps the parameters of all pages, so a page's URL also contains parameters of other pages."""
    kept = {
        "text": DREAM,
        "layer": "5",
        "head": "8",
        "off_heads": "cross.1.8-cross.6.5",
        "lesson_id": "one_row",
        "lesson_step": "2",
        "step": "4",
    }
    one = kept | {"off_heads": "encoder.2.1", "off_gate": "0.5"}
    slides = Slides(
        (
            *(
                Slide.of(page, kept)
                for page in ("cross_attention", "switch_heads_off", "lessons", "positional_encoding")
            ),
            Slide.of("switch_heads_off", one | {"off_gate": "0"}),
            Slide.of("switch_heads_off", one),
            Slide.of("lessons", {"text": DREAM}),
            Slide.of("cross_attention", {"text": DREAM}),
            *(
                Slide.of(page, kept | {"subject": "language_model", "lm_text": "The dog", "lm_layer": "2"})
                for page in ("inside_a_layer", "language_model", "cross_attention")
            ),
        )
    )
    test = opened("pages/about.py", text=DREAM, slides=str(slides))
    assert [slide["text"] for slide in received(test)["slides"]] == [
        f"layer 5, head 8 · {DREAM}",
        f"2 heads off · {DREAM}",
        "one row, step 2",
        DREAM,
        f"encoder attention, layer 2, head 1 off · {DREAM}",
        f"encoder attention, layer 2, head 1 changed · {DREAM}",
        "",
        DREAM,
        "layer 2, head 1 · The dog",
        "The dog",
        f"layer 5, head 8 · {DREAM}",
    ]


def test_slides_can_be_added_opened_and_closed():
    test = opened("pages/cross_attention.py", text=DREAM, layer="4", head="2", words="false")
    act(test, "add")
    test.switch_page("pages/masked_attention.py").run()
    act(test, "add")
    titles = [slide["page"] for slide in received(test)["slides"]]
    assert titles == ["Cross attention", "Masked attention"]
    assert received(test)["slides"][0]["text"] == f"layer 4, head 2 · {DREAM}"
    act(test, "move", slide=2, by=-1)
    assert [slide["page"] for slide in received(test)["slides"]] == titles[::-1]
    act(test, "start")
    assert received(test)["slide"] == 1
    assert headers(test)[0]["kind"] == "decoder" and headers(test)[0]["lecture"]
    act(test, "remove", slide=1)
    assert [slide["page"] for slide in received(test)["slides"]] == titles[:1] and healthy(test)
    other = opened("pages/about.py", text=DREAM, slides=parameter(test, "slides"))
    act(other, "start")
    assert headers(other)[0]["kind"] == "cross" and parameter(other, "slide") == "1"
    assert shown(other) | {"layer": 3, "head": 1, "words": False} == shown(other)


def test_opening_a_slide_restores_its_pins():
    """Opening a slide sets the sentence, which must not remove the slide's pins."""
    test = opened("pages/cross_attention.py", text=DREAM, **LISTED)
    act(test, "open", slide=2)
    assert shown(test)["rows"] == [1] and headers(test)[0]["texts"]["source"] == "It was too tired."
    # Old slide lists have pins without an attention kind. These pins apply to the attention kind of the slide's page,
    # not to that of the previous page.
    old = Slides((Slide.of("encoder_attention", {"text": DREAM, "layer": "2", "head": "1", "rows": "1"}),))
    test = act(opened("pages/cross_attention.py", text=DREAM, slides=str(old)), "open", slide=1)
    assert (shown(test)["rows"], parameter(test, "encoder_rows"), parameter(test, "cross_rows")) == ([1], "1", None)


def test_going_back_opens_a_slide_at_its_last_step():
    steps = Slide.of("decoding", {"text": DREAM, "step": "2"})
    question = Slide.of("lessons", {"text": DREAM, "lesson_id": "one_row"})
    slides = str(Slides((steps, question, SLIDES.slides[0])))
    for slide, more, name, value in (
        (1, {"by": -1}, "step", "6"),
        (1, {}, "step", "2"),
        (2, {"by": -1}, "lesson_answer", "shown"),
        (2, {"by": 1}, "lesson_answer", None),
    ):
        test = act(opened("pages/about.py", text=DREAM, slides=slides), "open", slide=slide, **more)
        assert healthy(test) and parameter(test, name) == value, "the translation has six tokens"
    test = act(opened("pages/about.py", text=DREAM, slides=slides), "open", slide=3, by=-1)
    assert healthy(test) and {"step", "lm_step", "lesson_answer"}.isdisjoint(test.query_params)


def test_slide_title_is_shown_above_the_slide_and_stored_in_the_url():
    test = opened("pages/cross_attention.py", text=DREAM, **LISTED)
    act(test, "title", slide=1, text="  Who looks\nat whom?\x00 " + "x" * 500)
    title = received(test)["slides"][0]["title"]
    assert title.startswith("Who looks at whom? x") and len(title) == 80 and received(test)["slides"][1]["title"] == ""
    assert received(test)["heading"] == "", "outside of the lecture mode"
    other = act(opened("pages/about.py", text=DREAM, slides=parameter(test, "slides")), "start")
    assert received(other)["heading"] == title
    # The URL contains the slide's number but opens another page, so the slide's title is not shown.
    elsewhere = opened("pages/about.py", text=DREAM, slides=parameter(test, "slides"), slide="1", lecture="true")
    assert received(elsewhere)["heading"] == ""
    for text in ("<b>bold</b>", "", 7, None):
        act(test, "title", slide=1, text=text)
        assert healthy(test)
    assert received(test)["slides"][0]["title"] == ""


def test_slide_stores_and_displays_its_head_and_step():
    """The slide stores a head chosen by default, because another version of the page might choose another head."""
    test = act(opened("pages/encoder_attention.py", text=DREAM), "add")
    head = shown(test)
    (slide,) = received(test)["slides"]
    assert slide["text"] == f"layer {head['layer'] + 1}, head {head['head'] + 1} · {DREAM}"
    assert "layer=" in received(test)["start"] and "head=" in received(test)["start"]
    test = act(opened("pages/decoding.py", text=DREAM, step="3"), "add")
    assert "step 3 · " in received(test)["slides"][0]["text"] and "layer " in received(test)["slides"][0]["text"]


def test_slides_are_restored_from_a_url_and_a_file():
    test = opened("pages/cross_attention.py", text=DREAM, **LISTED)
    file = received(test)["file"]
    for name in map(str, SLIDES.slides):
        assert name in file
    other = act(opened("pages/about.py", text=DREAM), "load", text=file)
    assert received(other)["slides"] == received(test)["slides"] and parameter(other, "slides") == LISTED["slides"]
    start = received(other)["start"]
    assert start.startswith("cross_attention?text=It+was") and "lecture=true" in start and "slide=1" in start


@pytest.mark.parametrize("slides", ["0", "javascript:alert(1)", LISTED["slides"][:40]])
def test_invalid_slide_url_is_reported_in_one_sentence(slides):
    test = opened("pages/about.py", text=DREAM, slides=slides, slide="9999999", lecture="<b>", qr="javascript:")
    assert healthy(test, warned=True) and len(test.warning) == 1
    assert "left out" in test.warning[0].value and received(test)["slides"] == []
    assert parameter(test, "slides") is None
    act(test, "present")
    assert healthy(test)


@pytest.mark.thorough
def test_invalid_file_is_reported_in_one_sentence_and_leaves_the_slides_unchanged():
    test = opened("pages/about.py", text=DREAM, **LISTED)
    many = "\n".join(["about?text=x"] * 10_000)
    for text in ("javascript:alert(1)", "<script>alert(1)</script>", many, "x" * 800_000):
        act(test, "load", text=text)
        assert healthy(test, warned=True) and "was not loaded" in test.warning[0].value
        assert len(received(test)["slides"]) == len(SLIDES) and "was not loaded" in received(test)["problem"]
        assert "<script>" not in test.warning[0].value


@pytest.mark.thorough
def test_invalid_browser_message_is_ignored():
    test = opened("pages/about.py", text=DREAM, **LISTED)
    for sent in (
        {},
        {"what": None},
        {"what": ["add"]},
        {"what": "eval"},
        {"what": "open"},
        {"what": "open", "slide": 99},
        {"what": "open", "slide": "1"},
        {"what": "open", "slide": -1},
        {"what": "move", "slide": 1, "by": 1e99},
        {"what": "remove", "slide": 0},
        {"what": "load", "text": 7},
        {"what": "open", "slide": True},
        "add",
        None,
        [1],
    ):
        send(test, bar(test), "act", sent)
        assert not test.exception and not test.error
        assert len(received(test)["slides"]) == len(SLIDES) and received(test)["slide"] == 0


def test_page_whose_url_is_too_long_cannot_become_a_slide():
    test = act(opened("pages/about.py", text="dream " * 1_000), "add")
    assert received(test)["slides"] == [] and "too long" in received(test)["problem"]


def test_qr_code_contains_the_url_of_the_page():
    test = act(opened("pages/cross_attention.py", text=DREAM, lecture="true", **LISTED), "code")
    code = received(test)["code"]
    assert code["image"].startswith("data:image/svg+xml") and parameter(test, "qr") == "true"
    assert code["address"].endswith("/cross_attention?text=I+have+a+dream.&lecture=true")
    assert "--lecture" in code["problem"], "the tests run on this machine alone"
    assert received(act(test, "code"))["code"] is None
    first = act(opened(f"pages/{FIRST}.py", text=DREAM), "code")
    assert "/?text=" in received(first)["code"]["address"]


def by_clicker(test):
    return {button.key: button.proto.shortcut for button in test.button if button.proto.shortcut.startswith("page")}


def test_lesson_that_is_not_a_slide_can_be_advanced_with_a_clicker():
    test = opened("pages/lessons.py", text=DREAM, lesson_id="one_row", lecture="true", **LISTED)
    assert received(test)["stepped"] == "Step 1", "the lesson's own buttons take the keys"
    # Pressing the same key twice shows the answer, then the next step.
    assert by_clicker(test) == {"lesson_show": "pagedown", "lesson_previous": "pageup"}
    test.button(key="lesson_show").click().run()
    assert by_clicker(test) == {"lesson_next": "pagedown", "lesson_previous": "pageup"}
    test.button(key="lesson_next").click().run()
    assert parameter(test, "lesson_step") == "2" and received(test)["stepped"] == "Step 2" and healthy(test)


def test_next_key_shows_the_lesson_answer_before_the_next_step():
    """The next step is locked until the question is answered, so outside lecture mode the key used to do nothing."""
    test = opened("pages/lessons.py", text=DREAM, lesson_id="one_row", lesson_step="2")
    assert by_clicker(test) == {"lesson_show": "pagedown", "lesson_previous": "pageup"}
    test.button(key="lesson_show").click().run()
    assert by_clicker(test) == {"lesson_next": "pagedown", "lesson_previous": "pageup"} and healthy(test)


def test_slide_list_names_the_displayed_lesson_step():
    """An old link or slide list may name a step that the lesson no longer has."""
    old = {"lesson_id": "one_row", "lesson_step": "6"}
    test = opened(
        "pages/lessons.py",
        text=DREAM,
        lecture="true",
        **old,
        slides=str(Slides((Slide.of("lessons", {"text": DREAM, **old}), SLIDES.slides[0]))),
    )
    assert healthy(test) and "4 of 4" in texts(test) and received(test)["stepped"] == "Step 4"
    assert received(test)["slides"][0]["text"] == "one row, step 4"


def test_clicker_moves_from_a_lesson_slide_to_the_next_slide():
    test = opened(
        "pages/lessons.py",
        text=DREAM,
        lesson_id="one_row",
        lecture="true",
        slide="1",
        slides=str(Slides((Slide.of("lessons", {"text": DREAM, "lesson_id": "one_row"}), SLIDES.slides[0]))),
    )
    assert not received(test)["stepped"] and by_clicker(test) == {}
    # The lesson's own buttons still change the step.
    test.button(key="lesson_show").click().run()
    test.button(key="lesson_next").click().run()
    assert parameter(test, "lesson_step") == "2" and not received(test)["stepped"] and healthy(test)
    act(test, "open", slide=2)
    assert parameter(test, "slide") == "2" and headers(test)[0]["kind"] == "cross"


def test_presented_page_tells_the_audience_what_to_look_for():
    test = opened("pages/compare_heads.py", text=DREAM, lecture="true")
    assert "Highest: " in texts(test) and "with 0." in texts(test)
    assert "Highest: " not in texts(opened("pages/compare_heads.py", text=DREAM))
    assert LectureParams(lecture=True).to_address() == {"lecture": "true"}
