import re

import numpy as np
import pytest
from playwright.sync_api import expect

from transformer.values.decoding_settings import DecodingSettings

DREAM = "text=I+have+a+dream."
PROJECTOR = {"width": 1024, "height": 768}
SENTENCE = "The old man was reading a newspaper."


def step(someone, number):
    """Wait until step `number` is shown and no decoding is in progress."""
    someone.page.locator(f".steps[data-drawn$=' {number}']").wait_for()


def strip(someone):
    return someone.page.locator(".timeline .token span").all_inner_texts()


def candidate(someone, number):
    """Return the text of a candidate at the current step.

    Args:
        number: rank of the candidate, 1-based.
    """
    return someone.page.locator(".candidates .name").nth(number - 1).inner_text()


def translations(someone, count):
    expect(someone.page.locator(".translations li")).to_have_count(count)


@pytest.mark.thorough
def test_user_reaches_a_different_translation_in_five_clicks(visit, server):
    with visit(server, viewport=PROJECTOR) as lecturer:
        lecturer.open("/")
        lecturer.maps(3)
        lecturer.translate(SENTENCE)
        lecturer.page.wait_for_url(re.compile("text=The.old"))
        lecturer.choose("Decoding step by step")
        step(lecturer, 1)
        lecturer.page.get_by_role("button", name="Least certain step").click()
        expect(lecturer.page.locator(".says")).to_contain_text("hesitates between")
        first, other = candidate(lecturer, 1), candidate(lecturer, 2)
        hesitating = lecturer.page.locator(".timeline [aria-current=step] span")
        assert hesitating.inner_text() == first
        before = strip(lecturer)
        button = lecturer.page.locator(".candidates .take").nth(1)
        box = button.bounding_box()
        assert box["y"] > 0 and box["y"] + box["height"] < PROJECTOR["height"], "without scrolling"
        button.click()
        translations(lecturer, 2)
        expect(hesitating).to_have_text(other)
        assert strip(lecturer) != before
        lecturer.page.wait_for_url(re.compile("forced="))


@pytest.mark.thorough
def test_user_reaches_a_different_translation_by_keyboard_alone(reader):
    reader.open(f"/decoding?{DREAM}")
    step(reader, 1)
    drawn = reader.page.locator(".steps").get_attribute("data-drawn")
    reader.page.get_by_label("English sentence").focus()
    keyboard = reader.page.keyboard
    keyboard.press("Control+a")
    keyboard.type(SENTENCE)
    keyboard.press("Enter")
    reader.page.wait_for_url(re.compile("text=The.old"))
    # The previous sentence was also at step 1, and remains on screen until the new one is decoded.
    expect(reader.page.locator(".steps")).not_to_have_attribute("data-drawn", drawn)
    step(reader, 1)
    for _ in range(12):
        keyboard.press("Tab")
        if reader.page.evaluate("document.activeElement.shadowRoot?.activeElement?.className") == "token":
            break
    keyboard.press("ArrowRight")
    step(reader, 2)
    keyboard.press("End")
    step(reader, len(strip(reader)))
    keyboard.press("h")
    expect(reader.page.locator(".says")).to_contain_text("hesitates between")
    other = candidate(reader, 2)
    keyboard.press("2")
    translations(reader, 2)
    expect(reader.page.locator(".timeline [aria-current=step] span")).to_have_text(other)
    keyboard.press("Home")
    step(reader, 1)


def test_url_restores_a_forced_token_for_another_user(reader, visit, server, shipped):
    reader.open(f"/decoding?{DREAM}&step=2&layer=2&head=5")
    step(reader, 2)
    reader.page.locator(".timeline [aria-current=step]").press("ArrowRight")
    step(reader, 3)
    reader.page.locator(".candidates .take").nth(1).click()
    translations(reader, 2)
    reader.page.wait_for_url(re.compile("forced="))
    step(reader, 3)
    with visit(server) as other:
        other.open(reader.page.url.removeprefix(server))
        step(other, 3)
        translations(other, 2)
        assert strip(other) == strip(reader)
        for part in (".in-out", ".numbers", ".says", ".row"):
            assert other.page.locator(part).all_inner_texts() == reader.page.locator(part).all_inner_texts()
        forced = [int(token) for token in re.search(r"forced=([\d.]+)", other.page.url)[1].split(".")]
        traced = shipped.trace_decoding("I have a dream.", DecodingSettings(), prefix=forced)
        assert [name.replace("␣", "▁") for name in strip(other)[:-1]] == [
            token.text for token in traced.translation.tokens[:-1]
        ]
        expect(other.page.locator(".numbers")).to_contain_text(f"probability {np.exp(traced.trace.log_probs[2]):.4f}")


@pytest.mark.thorough
def test_playing_the_animation_keeps_typed_text(reader):
    reader.open(f"/decoding?{DREAM}")
    step(reader, 1)
    count = len(strip(reader))
    reader.page.get_by_label("English sentence").fill("Half a sent")
    typed = reader.page.get_by_label("Another token or word")
    typed.fill("Hund")
    reader.page.get_by_label("Speed").select_option("4")
    reader.page.get_by_role("button", name="Play", exact=True).click()
    step(reader, count)
    expect(reader.page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    reader.page.wait_for_url(re.compile(f"step={count}"))
    reader.wait()
    reader.has_typed("Half a sent")
    expect(typed).to_have_value("Hund")


@pytest.mark.thorough
def test_typed_word_is_forced_in_the_translation(reader):
    reader.open(f"/decoding?{DREAM}&step=3")
    step(reader, 3)
    reader.page.get_by_label("Another token or word").fill("keinen")
    reader.page.keyboard.press("Enter")
    translations(reader, 2)
    expect(reader.page.locator(".translations [aria-pressed=true] mark")).to_contain_text("keinen")
    reader.page.locator(".translations button").first.click()
    expect(reader.page.locator(".translations [aria-pressed=true] mark")).to_be_empty()
    translations(reader, 2)


@pytest.mark.thorough
def test_token_can_be_banned_and_allowed_again(reader):
    reader.open(f"/decoding?{DREAM}&step=3")
    step(reader, 3)
    own = strip(reader)
    reader.page.locator(".candidates .ban").first.click()
    expect(reader.page.locator(".banned-tokens")).to_contain_text(own[2])
    assert own[2] not in strip(reader)[2:]
    reader.page.locator(".banned-tokens button").click()
    expect(reader.page.locator(".banned-tokens")).to_be_hidden()
    expect(reader.page.locator(".timeline .token span")).to_have_text(own)


@pytest.mark.thorough
def test_banning_a_token_keeps_the_forced_tokens(reader):
    reader.open(f"/decoding?{DREAM}&step=3")
    step(reader, 3)
    first, other = candidate(reader, 1), candidate(reader, 2)
    reader.page.locator(".candidates .take").nth(1).click()
    chosen = reader.page.locator(".timeline [aria-current=step] span")
    expect(chosen).to_have_text(other)
    reader.page.locator(".candidates .ban").first.click()
    expect(reader.page.locator(".banned-tokens")).to_contain_text(first)
    expect(chosen).to_have_text(other)
    reader.page.locator(".candidates .ban").nth(1).click()
    expect(reader.page.locator(".banned-tokens")).to_contain_text(other)
    expect(chosen).not_to_have_text(other)
    assert chosen.inner_text() != first


@pytest.mark.thorough
def test_tokens_may_be_banned_in_any_order(reader):
    reader.open(f"/decoding?{DREAM}")
    for banned in range(1, 4):
        step(reader, 1)
        reader.page.locator(".candidates .ban").nth(banned - 1).click()
        expect(reader.page.locator(".banned-tokens button")).to_have_count(banned)
    # A ban is applied only after the current decoding has ended.
    step(reader, 1)


@pytest.mark.thorough
def test_typed_temperature_is_rounded_and_an_invalid_value_restores_the_previous_one(reader):
    reader.open(f"/decoding?{DREAM}&method=sample")
    step(reader, 1)
    box = reader.page.get_by_label("Temperature", exact=True)
    for typed, used in (("0.75", "0.75"), ("99", "0.75"), ("", "0.75"), ("1.2345678", "1.234568")):
        box.fill(typed)
        box.press("Enter")
        reader.page.wait_for_url(re.compile(f"temperature={used}"))
        expect(box).to_have_value(used)
        step(reader, 1)
        # Applying a setting keeps the focus in the box, even if a hint above the box appears or disappears.
        expect(box).to_be_focused()


@pytest.mark.thorough
def test_open_shortcut_list_receives_all_keys(reader):
    reader.open(f"/decoding?{DREAM}")
    step(reader, 1)
    reader.page.locator(".timeline button").first.press("?")
    expect(reader.page.get_by_role("dialog", name="Keys")).to_be_visible()
    reader.page.keyboard.press("ArrowRight")
    reader.page.keyboard.press("2")
    reader.page.keyboard.press("Escape")
    expect(reader.page.get_by_role("dialog", name="Keys")).to_have_count(0)
    step(reader, 1)
    translations(reader, 1)


@pytest.mark.thorough
def test_to_the_tree_button_scrolls_to_the_beam_tree(visit, server):
    with visit(server, viewport=PROJECTOR) as lecturer:
        lecturer.open(f"/decoding?{DREAM}&method=beam")
        step(lecturer, 1)
        lecturer.page.get_by_role("button", name="To the tree").click()
        expect(lecturer.page.locator(".tree")).to_be_in_viewport()


@pytest.mark.thorough
def test_arrow_keys_move_through_the_beam_tree(reader, shipped):
    reader.open(f"/decoding?{DREAM}")
    step(reader, 1)
    reader.page.get_by_label("Method", exact=True).select_option("beam")
    expect(reader.page.locator(".node.best")).to_have_count(
        len(shipped.translate("I have a dream.", DecodingSettings("beam")).tokens)
    )
    reader.page.locator(".node.best").nth(2).click()
    expect(reader.page.locator(".node-text")).to_contain_text("Step 3")
    expect(reader.page.locator(".node-text")).to_contain_text("looks at the source")
    reader.page.locator(".tree svg").focus()
    reader.page.keyboard.press("ArrowDown")
    expect(reader.page.locator(".node.chosen.best")).to_have_count(0)
    reader.page.keyboard.press("Enter")
    reader.page.wait_for_url(re.compile("method=beam.*forced="))
    translations(reader, 2)


@pytest.mark.thorough
def test_beam_tree_columns_are_sorted_by_the_displayed_scores(reader, shipped):
    reader.open(f"/decoding?{DREAM}&method=beam&beam_size=3")
    step(reader, 1)
    shown = reader.page.locator(".node").evaluate_all(
        "nodes => nodes.map(node => [node.getAttribute('transform'), node.querySelector('.score')?.textContent])"
    )
    columns = {}
    for place, score in shown:
        x, y = map(int, re.findall(r"\d+", place))
        columns.setdefault(x, []).append((y, float((score or "nan").replace("−", "-"))))
    scores = [[score for _, score in sorted(column)] for _, column in sorted(columns.items())]
    assert all(column == sorted(column, reverse=True) for column in scores)
    best = shipped.trace_decoding("I have a dream.", DecodingSettings("beam", beam_size=3)).translation.tree.nodes
    assert [column[0] for column in scores] == [
        round(next(node.score for node in best if node.step == number), 2) + 0.0 for number in range(len(scores))
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("width", [1024, 390])
def test_beam_tree_wider_than_the_screen_has_scroll_buttons(visit, server, shipped, width):
    text = "The old man is reading a newspaper in the garden of his house."
    steps = len(shipped.trace_decoding(text, DecodingSettings("beam")).translation.tree.cutoffs)
    with visit(server, viewport={"width": width, "height": 768}) as lecturer:
        lecturer.open(f"/decoding?text={text.replace(' ', '+')}&method=beam")
        step(lecturer, 1)
        later = lecturer.page.get_by_role("button", name="Later steps")
        last = lecturer.page.locator(".tree svg .column").filter(has_text=re.compile(f"step {steps}$"))
        part = lecturer.page.locator(".tree .span")
        expect(part).to_have_text(re.compile(rf"^steps 1 to \d+ of {steps}$"))
        expect(last).not_to_be_in_viewport()
        for _ in range(steps):
            if later.is_disabled():
                break
            later.click()
            lecturer.wait()
        expect(part).to_have_text(re.compile(rf"to {steps} of {steps}$"))
        last.scroll_into_view_if_needed()
        expect(last).to_be_in_viewport()
        expect(later).to_be_disabled()
        expect(lecturer.page.get_by_role("button", name="Earlier steps")).to_be_enabled()


@pytest.mark.thorough
def test_beam_tree_that_fits_the_screen_does_not_scroll(reader):
    reader.open("/decoding?text=Yes.&method=beam")
    step(reader, 1)
    expect(reader.page.locator(".tree svg")).to_be_visible()
    expect(reader.page.get_by_role("button", name="Later steps")).to_have_count(0)


@pytest.mark.thorough
@pytest.mark.parametrize("size", [(1024, 768), (390, 844)], ids=str)
def test_newly_chosen_translation_is_scrolled_into_view_in_the_list(visit, server, size):
    with visit(server, viewport={"width": size[0], "height": size[1]}) as lecturer:
        lecturer.open(f"/decoding?text={SENTENCE.replace(' ', '+')}&step=5")
        step(lecturer, 5)
        taken = lecturer.page.locator(".translations [aria-pressed=true]")
        for count, number in enumerate(range(2, 8), start=2):
            lecturer.page.locator(".candidates .take").nth(number - 1).click()
            translations(lecturer, count)
            step(lecturer, 5)
            inside = taken.evaluate("""button => {
                const list = button.closest(".translations").getBoundingClientRect();
                const own = button.getBoundingClientRect();
                return own.top >= list.top && own.bottom <= list.bottom;
            }""")
            assert inside, count


@pytest.mark.thorough
def test_forced_prefix_is_shown_and_can_be_removed(reader):
    reader.open(f"/decoding?{DREAM}&step=3")
    step(reader, 3)
    reader.page.locator(".candidates .take").nth(1).click()
    translations(reader, 2)
    reported = reader.page.locator(".forced-tokens")
    forced = reader.page.locator(".timeline .forced span").all_inner_texts()
    expect(reported).to_contain_text("".join(forced).replace("␣", " ").strip())
    reader.page.get_by_label("Method", exact=True).select_option("beam")
    reader.page.wait_for_url(re.compile("method=beam"))
    step(reader, 3)
    expect(reported).to_contain_text("Forced")
    reported.get_by_role("button", name="Let the model choose").click()
    expect(reader.page.locator(".timeline .forced")).to_have_count(0)
    expect(reported).to_be_hidden()
    expect(reader.page).to_have_url(re.compile(r"^(?!.*forced).*method=beam"))


@pytest.mark.thorough
def test_start_over_button_restores_the_model_translation(reader, shipped):
    reader.open(f"/decoding?{DREAM}&step=3")
    step(reader, 3)
    own = strip(reader)
    reader.page.locator(".candidates .take").nth(1).click()
    translations(reader, 2)
    reader.page.get_by_label("Method", exact=True).select_option("sample")
    reader.page.wait_for_url(re.compile("method=sample"))
    step(reader, 3)
    reader.page.locator(".candidates .ban").first.click()
    expect(reader.page.locator(".banned-tokens")).to_be_visible()
    reader.page.get_by_role("button", name="Start over").click()
    expect(reader.page.locator(".timeline .token span")).to_have_text(own)
    step(reader, 1)
    expect(reader.page.get_by_label("Method", exact=True)).to_have_value("greedy")
    for gone in (".translations", ".banned-tokens", ".forced-tokens"):
        expect(reader.page.locator(gone)).to_be_hidden()
    expect(reader.page).to_have_url(re.compile(re.escape(f"/decoding?{DREAM}") + "$"))


@pytest.mark.thorough
def test_sampled_translation_is_kept_across_page_changes(reader, shipped):
    reader.open(f"/decoding?{DREAM}&layer=1&head=1&method=sample&seed=2&temperature=2")
    step(reader, 1)
    sampled = shipped.translate("I have a dream.", DecodingSettings("sample", temperature=2.0, seed=2)).text
    tokens = strip(reader)
    reader.page.get_by_role("button", name="Use this translation on all pages").click()
    reader.see("The model now reads")
    # On this page, the translation is still a sample, without forced tokens.
    step(reader, 1)
    assert strip(reader) == tokens
    expect(reader.page.locator(".timeline .forced")).to_have_count(0)
    translations(reader, 2)
    reader.choose("Cross attention")
    reader.head(1, 1)
    shown = reader.page.get_by_test_id("stMarkdown").filter(has_text="The model now reads")
    expect(shown).to_contain_text(sampled)
    expect(shown).to_contain_text("sampling at temperature 2, seed 2")
    reader.choose("Decoding step by step")
    step(reader, 1)
    assert strip(reader) == tokens
    expect(reader.page.locator(".translations [aria-pressed=true]")).to_contain_text("on the other pages")
    reader.page.locator(".translations button").first.click()
    reader.page.get_by_role("button", name="Use this translation on all pages").click()
    expect(shown).to_have_count(0)
    expect(reader.page).not_to_have_url(re.compile("target"))


@pytest.mark.thorough
def test_untrusted_text_is_shown_literally(reader):
    text = "<b>x</b> <img src=x onerror=alert(1)>"
    reader.open("/decoding")
    step(reader, 1)
    reader.translate(text)
    reader.page.wait_for_url(re.compile("text=%3Cb"))
    step(reader, 1)
    reader.page.get_by_label("Another token or word").fill('"><img src=x onerror=alert(1)>')
    reader.page.keyboard.press("Enter")
    translations(reader, 2)
    assert reader.page.locator(".steps img, .steps .words b").count() == 0
    assert "<" in "".join(reader.page.locator(".row").first.all_inner_texts())


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("size", "scheme"), [((1440, 900), "light"), ((1024, 768), "dark"), ((390, 844), "light")], ids=str
)
def test_every_view_of_the_decoding_page_fits_the_screen(visit, server, scheme, size):
    viewport = {"width": size[0], "height": size[1]}
    with visit(server, color_scheme=scheme, viewport=viewport) as someone:
        for settings in ("method=beam&beam_size=5&node=3", "method=sample&show=all", "show=mean&step=2"):
            someone.open(f"/decoding?{DREAM}&{settings}")
            someone.components(1)
            someone.fits(settings)
