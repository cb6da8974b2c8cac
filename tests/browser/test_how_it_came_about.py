import re

from playwright.sync_api import expect


def test_clicking_an_edge_selects_its_path(reader):
    """Keyboard users choose the path in a select box instead."""
    reader.open("/how_it_came_about?text=I+have+a+dream.&graph_position=4&graph_most=12")
    # Dotted edges come from bias nodes and belong to no path.
    edges = reader.page.locator("[data-testid=stVegaLiteChart] svg .mark-line path:not([stroke-dasharray='3,4'])")
    reader.drawn(edges.first)
    path, *at = edges.last.evaluate("""line => {
        const point = line.getPointAtLength(line.getTotalLength() / 2), to = line.getScreenCTM();
        const top = document.elementFromPoint(point.x * to.a + to.e, point.y * to.d + to.f);
        return [/path: (\\d+)/.exec(top.ariaLabel)[1], point.x * to.a + to.e, point.y * to.d + to.f];
    }""")
    reader.page.mouse.click(*at)
    reader.page.wait_for_function(f"/graph_path={path}(&|$)/.test(location.search)")
    box = reader.page.get_by_role("combobox", name="Path")
    expect(box).to_have_value(re.compile(rf"^{path}\. "))
