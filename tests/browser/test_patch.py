from urllib.parse import quote

from playwright.sync_api import expect

from tests.browser.figure_files import save
from transformer.commands.verify import verify

ADDRESS = f"/patch?text={quote('The doctor lost her keys.')}&patch_other={quote('The doctor lost his keys.')}"


def test_dragging_a_cell_onto_the_other_run_applies_a_patch(reader):
    """Keyboard users choose cells in select boxes instead."""
    reader.open(ADDRESS)
    cells = reader.page.locator(".two-runs .cell")
    reader.drawn(cells.first)
    reader.wait()
    cells.first.scroll_into_view_if_needed()

    def drag(from_cell: str, onto: str) -> None:
        places = [reader.page.locator(f"[data-cell='{each}']").bounding_box() for each in (from_cell, onto)]
        (start, end) = ((place["x"] + place["width"] / 2, place["y"] + place["height"] / 2) for place in places)
        reader.page.mouse.move(*start)
        reader.page.mouse.down()
        reader.page.mouse.move(*end, steps=4)

    # A cell can be dropped only at its own depth, so this drop has no target.
    drag("1 3 3", "0 2 3")
    expect(reader.page.locator(".cell.over.goal")).to_have_count(0)
    reader.page.mouse.up()
    drag("1 3 3", "0 3 2")
    expect(reader.page.locator("[data-cell='0 3 2'].over.goal")).to_have_count(1)
    expect(reader.page.locator(".cell.goal")).to_have_count(7)
    reader.page.mouse.up()
    # Numbers in the URL are 1-based.
    reader.page.wait_for_function("/patch_layer=4&patch_at=3&patch_partner=4(&|$)/.test(location.search)")
    expect(reader.page.locator(".cell.chosen")).to_have_count(2)
    assert "patch_direction" not in reader.page.url
    reader.wait()
    drag("0 4 3", "1 4 3")
    reader.page.mouse.up()
    reader.page.wait_for_function("/patch_direction=enough(&|$)/.test(location.search)")


def test_toolbar_of_the_chart_covers_no_translation(reader):
    reader.open(ADDRESS)
    figure = reader.page.locator(".st-key-figure_patch_next")
    reader.drawn(figure.locator("svg").first)
    reader.wait()
    figure.locator("[data-testid=stVegaLiteChart]").hover()
    toolbar = figure.locator("[data-testid=stElementToolbar]")
    expect(toolbar).to_be_visible()
    patched = reader.page.get_by_text("A, patched", exact=True).locator("xpath=ancestor::*[@data-testid='stMarkdown']")
    # The toolbar moves up while it appears, so wait until its animation has ended.
    below = """async (text, bar) => {
        await Promise.all(document.getAnimations().map(each => each.finished));
        return bar.getBoundingClientRect().top >= text.getBoundingClientRect().bottom;
    }"""
    assert patched.evaluate(below, toolbar.element_handle())


def test_figure_files_of_every_format_contain_a_verifiable_experiment(reader, shipped, tmp_path):
    reader.open(ADDRESS)
    figure = reader.page.locator(".st-key-figure_patch_next")
    reader.drawn(figure.locator("svg").first)
    reader.wait()
    for name in ("SVG", "PNG 2×", "PDF"):
        file = tmp_path / name.partition(" ")[0]
        file.write_bytes(save(figure, name))
        (report,) = verify(file, lambda _: shipped, None)
        assert report.compared > 10 and not report.differing, (name, str(report))


def test_last_word_is_selected_if_the_user_must_change_a_word(reader):
    reader.open(f"/patch?text={quote('My sister bought a car.')}")
    box = reader.page.get_by_role("textbox", name="Sentence B")
    expect(box).to_be_focused()
    reader.page.wait_for_function("getSelection().toString() === 'car'")


def test_links_between_the_pages_patch_and_how_it_came_about_keep_the_token(reader):
    reader.open(ADDRESS)
    step = reader.page.get_by_role("combobox", name="Decoding step").input_value().partition(":")[0]
    reader.page.get_by_role("link", name="Follow this token back").click()
    reader.arrived("how_it_came_about")
    reader.page.wait_for_function(f"/graph_position={step}(&|$)/.test(location.search)")
    reader.wait()
    other = "1" if step != "1" else "2"
    reader.open(
        reader.page.url.removeprefix(reader.address).replace(f"graph_position={step}", f"graph_position={other}")
    )
    reader.page.get_by_role("link", name="Patch the step").click()
    reader.arrived("patch")
    reader.page.wait_for_function(f"/patch_step={other}(&|$)/.test(location.search)")
