import re

from playwright.sync_api import expect

# JavaScript: whether all labels of a graph are upright, and no label of a token or bias node overlaps the legend.
LEGIBLE = """chart => {
    const labels = [...chart.querySelectorAll("svg .mark-text.role-mark text")];
    const legend = [...chart.querySelectorAll("svg .role-legend-label text")];
    const box = each => each.getBoundingClientRect();
    const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
    return labels.length > 10 && legend.length > 7
        && !labels.some(each => /rotate/.test(each.getAttribute("transform")))
        && labels.filter(each => /^[a-z]/i.test(each.textContent) && box(each).top > innerHeight / 2)
            .every(each => legend.every(other => apart(box(each), box(other))));
}"""


def test_labels_of_the_graph_are_legible_on_a_projector(reader):
    reader.resize(1024, 768)
    reader.open("/how_it_came_about?lecture=true&graph_position=3")
    reader.until(reader.page.locator("[data-testid=stVegaLiteChart]").first, LEGIBLE, "labels overlap")


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
