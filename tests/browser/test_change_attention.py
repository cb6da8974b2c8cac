import re
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import expect

PAGE = "/change_attention?text=I+have+a+dream.&layer=1&head=7&edit_kind=cross&words=false"
# Pixel position of a cell in the map's third row, on a screen 1440 pixels wide.
CELL = {"x": 400, "y": 200}


def edits(reader):
    return parse_qs(urlparse(reader.page.url).query).get("edit_edits", [""])[0]


def becomes(reader, pattern):
    """Wait until the edits in the URL match a pattern, and return these edits."""
    expect(reader.page).to_have_url(re.compile(rf"edit_edits={pattern}(&|$)"), timeout=30_000)
    reader.wait()
    return edits(reader)


def test_clicking_a_cell_moves_attention_there_and_the_url_restores_the_edit(visit, server):
    changed = re.compile("layer 1, head 7: .* 100%")
    with visit(server) as reader:
        reader.open(PAGE)
        reader.maps(1)
        large, panel = reader.page.locator("canvas.large"), reader.page.locator(".panel")
        expect(panel.get_by_role("button", name="Spread evenly")).to_be_disabled()
        large.click(position=CELL)
        made = becomes(reader, r"cross\.1\.7\.\d~\dx100")
        expect(panel.locator("output")).to_have_text("100%")
        reader.see("Your changes")
        expect(reader.page.get_by_role("button", name=changed)).to_be_visible()
        panel.get_by_role("button", name="Undo").click()
        expect(reader.page).not_to_have_url(re.compile("edit_edits=cross"), timeout=30_000)
    with visit(server) as other:
        other.open(PAGE + f"&edit_edits={made}")
        other.maps(1)
        expect(other.page.get_by_role("button", name=changed)).to_be_visible()
        expect(other.page.locator(".panel")).to_have_count(1)


@pytest.mark.thorough
def test_dragging_sets_the_weight_of_a_cell_and_controls_adjust_it(reader):
    reader.open(PAGE)
    reader.maps(1)
    panel = reader.page.locator(".panel")
    box = reader.page.locator("canvas.large").bounding_box()
    x, y = box["x"] + CELL["x"], box["y"] + CELL["y"]
    reader.page.mouse.move(x, y)
    reader.page.mouse.down()
    reader.page.mouse.move(x + 30, y, steps=3)
    reader.page.mouse.move(x + 72, y, steps=6)
    share = int(panel.locator("output").inner_text().removesuffix("%"))
    assert 25 < share < 100, "the share is shown during the drag"
    reader.page.mouse.up()
    assert becomes(reader, r"cross\.1\.7\.\d~\dx\d+").endswith(f"x{share}")
    panel.get_by_label("Weight of the chosen cell").fill("40")
    becomes(reader, r"cross\.1\.7\.\d~\dx40")
    panel.get_by_label("Apply to").select_option("every head of every layer")
    panel.get_by_role("button", name="Spread evenly").click()
    becomes(reader, r"cross\.1\.7\.\d~\dx40_cross\.all\.all\.\d~even")
    panel.get_by_role("button", name="Reset row").click()
    expect(reader.page).not_to_have_url(re.compile("edit_edits="))
    reader.wait()
    expect(panel.get_by_role("button", name="Reset row")).to_be_disabled()
    for expected in ("cross.1.7.*even", "cross.1.7.*x40", rf"cross.1.7.*x{share}"):
        panel.get_by_role("button", name="Undo").click()
        becomes(reader, expected)


@pytest.mark.thorough
def test_attention_can_be_edited_by_keyboard_except_in_masked_cells(reader):
    reader.open(PAGE.replace("edit_kind=cross", "edit_kind=decoder"))
    reader.maps(1)
    page = reader.page
    page.locator("canvas.large").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    becomes(reader, r"decoder\.1\.7\.3~2x100")
    page.keyboard.press("-")
    becomes(reader, r"decoder\.1\.7\.3~2x95")
    page.keyboard.press("e")
    becomes(reader, r"decoder\.1\.7\.3~even")
    page.keyboard.press("u")
    becomes(reader, r"decoder\.1\.7\.3~2x95")
    page.keyboard.press("Backspace")
    expect(reader.page).not_to_have_url(re.compile("edit_edits="))
    reader.wait()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(page.locator(".panel .refused")).to_contain_text("the cell is masked, so its weight stays 0")
    assert edits(reader) == ""


@pytest.mark.thorough
def test_user_can_show_attention_before_or_after_an_edit_or_the_difference(reader):
    reader.open("/change_attention?text=I+have+a+dream.&layer=2&head=3&edit_edits=encoder.1.all.2~3x100")
    reader.maps(1)
    readout = reader.page.locator(".readout")
    for shown, said in (
        ("the difference", "compared with the model as trained"),
        ("as trained", "looks at"),
        ("after the change", "looks at"),
    ):
        reader.page.get_by_label("Show", exact=True).select_option(shown)
        reader.page.locator("canvas.large").hover(position={"x": 300, "y": 250})
        expect(readout).to_contain_text(said)
        reader.page.mouse.move(0, 0)


@pytest.mark.thorough
def test_clicked_word_is_erased(reader):
    reader.open("/change_attention?text=I+have+a+dream.")
    reader.maps(1)
    reader.page.get_by_role("button", name="dream", exact=True).click()
    expect(reader.page).to_have_url(re.compile("edit_hidden_source="), timeout=30_000)
    reader.page.get_by_text("Left out", exact=True).click()
    reader.see("I have a")
    expect(reader.page).to_have_url(re.compile("edit_erasure=left_out"), timeout=30_000)


@pytest.mark.thorough
def test_changed_translation_stays_in_view_on_a_phone(reader):
    reader.resize(390, 844)
    reader.open(PAGE)
    reader.maps(1)
    changed = reader.page.get_by_text("Changed:")
    reader.page.locator("canvas.large").evaluate("canvas => canvas.scrollIntoView({ block: 'center' })")
    expect(changed).to_be_in_viewport(ratio=1)
    reader.free(changed, "the map covers the line")
