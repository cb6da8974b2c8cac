"""Renders the frame around every page: the styles, the area that asks users to wait, and the navigation."""

from contextlib import ExitStack
from datetime import timedelta

import streamlit as st

from pages.ui.components.exporter import exporter
from pages.ui.runs.script_runs import SCRIPT_RUNS
from pages.ui.server.opening import ICON
from pages.ui.shell.router import navigate
from pages.ui.state.session import is_new
from transformer.files.paths import ASSETS

# Styles, mainly for projectors. They reduce empty space at the top, because maps need every pixel. They also replace
# the theme's pale text colour in Plotly figures, selected buttons and slider values with the normal text colour.
STYLE = """<style>
.stMainBlockContainer { padding-top: 3.75rem; }
.st-key-lecture_bar { position: fixed; top: 14px; right: 48px; z-index: 999991; width: auto; }
/* The lecturer's vote, at the bottom edge, beside the controls of lecture mode. */
.st-key-lecture_vote { position: fixed; bottom: 4px; left: 8px; z-index: 999991; width: auto; }
/* Messages that ask the user to wait, at the bottom, on top of the previous content of the page. */
.st-key-waiting { position: fixed; bottom: 0; left: 1rem; z-index: 999990; width: auto; backdrop-filter: blur(10px); }
/* On a projector, the five menus (one shows the page's title) must not overlap the buttons. */
@media (max-width: 1150px) { [data-testid=stTopNavSection] { padding-inline: 1px; gap: 2px; } }
/* Streamlit's running indicator and Stop button are to the right of the lecture bar. */
@media (min-width: 900px) { .st-key-lecture_bar { right: 144px; } }
[data-testid=stLayoutWrapper]:has(> :is(.st-key-lecture_bar, .st-key-lecture_vote, .st-key-waiting)) {
    display: contents;
}
/* A fixed size: otherwise, Streamlit measures the icons when it renders them, and keeps the larger size of lecture mode
   after that mode ends. */
[data-testid=stTooltipIcon] svg { width: 1rem; height: 1rem; }
/* The touch target is 24 x 24 pixels (WCAG 2.5.8). */
[data-testid=stTooltipIcon] button[aria-label=Help] { position: relative; }
[data-testid=stTooltipIcon] button[aria-label=Help]::after { content: ""; position: absolute; inset: -4px; }
/* On a phone, button labels and rows of buttons wrap instead of being cut off, and charts shrink to fit. */
@media (max-width: 640px) {
    button .stMarkdownEllipsis, button .stMarkdownEllipsis p { white-space: normal; text-align: left; }
    [data-testid=stButtonGroup] [role=radiogroup] { flex-wrap: wrap; }
    .stVegaLiteChart svg.marks { max-width: calc(100vw - 2rem); height: auto; }
}
/* Let sentences wrap in the open menu of examples. Streamlit would cut them to the width of the closed menu. */
[data-testid=stSelectboxVirtualDropdown]:has([aria-label="or an example"]) {
    width: max-content !important; min-width: var(--trigger-width); max-width: min(30rem, 100vw - 2rem);
    [role=option], [role=option] > div { height: auto; white-space: normal; }
    [role=option] { min-height: 2.5rem; padding-block: 0.25rem; }
}
/* The page's title, in the size of a heading, or visually hidden without taking up space. */
.st-key-page_title h1 { font-size: 1.75rem; font-weight: 600; padding: 0.5rem 0 0; }
.st-key-page_title_unseen h1 { font-size: 1rem; font-weight: 600; padding: 0; }
@media (min-width: 768px) {
    [data-testid=stLayoutWrapper]:has(> .st-key-page_title_unseen) {
        position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
    }
}
/* Save vertical space around the translation and other short texts. */
.st-key-translation button { min-height: 1.75rem; padding: 0 0.6rem; }
@media (max-width: 1100px) {
    .st-key-translation button [data-has-shortcut] > :has(> [data-testid=stIconMaterial]) { display: none; }
    :is(.st-key-translation, .st-key-outcome, .st-key-written, .st-key-what_it_is) p {
        line-height: 1.3;
    }
    .st-key-translation { margin-block: -0.25rem -0.4rem; }
    .st-key-written { margin-bottom: -0.4rem; }
}
/* On a phone, keep the changed translation in view while the user scrolls to the attention map and edits weights. */
@media (max-width: 640px) {
    :is(.st-key-outcome, [data-testid=stLayoutWrapper]:has(> .st-key-outcome)) { display: contents; }
    [data-testid=stLayoutWrapper]:has(> .st-key-changed) {
        flex: none; position: sticky; top: 3.5rem; z-index: 9; padding-block: 0.25rem;
        /* The theme's background. */
        background: light-dark(#ffffff, #0f1420);
    }
}
/* Elements beside a translation or an introduction wrap below it before its text becomes one word wide. */
:is(.st-key-translation, .st-key-introduction, .st-key-outcome) > :first-child,
.st-key-what_it_is > :last-child { min-width: min(16rem, 100%); }
.stPlotlyChart :is(.xtick, .ytick, .infolayer, .bars) text { fill: currentColor !important; }
.stPlotlyChart :is(.gridlayer, .zerolinelayer) path { stroke: currentColor !important; stroke-opacity: 0.15 !important }
[data-testid=stSliderThumbValue], [data-variant=segmented_control][data-selected=true],
[data-variant=pills][data-selected=true] { color: inherit !important; }
.stElementContainer:has(.stHtml > script), [data-testid=stLayoutWrapper]:has(.st-key-exporter) { display: none; }
</style>"""
EARLY_SCRIPT = (ASSETS / "lecture" / "early.js").read_text(encoding="utf-8")
# In a narrow window, the menu covers the page. Streamlit itself closes the menu after a click on phones only.
MENU_SCRIPT = """<script>
window.closesItsMenu ??= document.addEventListener("click", event => {
    if (!event.target.closest("[data-testid=stSidebarNavLink]")) return;
    document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click();
}) ?? true;
</script>"""


def draw() -> None:
    """Render the page that the URL names; called only by app.py, in every script run."""
    st.set_page_config(page_icon=ICON, layout="wide")
    st.html(STYLE)
    st.html(f"<script>{EARLY_SCRIPT}</script>", unsafe_allow_javascript=True)
    st.html(MENU_SCRIPT, unsafe_allow_javascript=True)
    with ExitStack() as run:
        # Messages that ask the user to wait have their own container, so that they do not move the elements below.
        with st.container(key="waiting"):
            # Sessions that still show an empty screen go first, because their first page takes far
            # less time than a translation.
            run.enter_context(SCRIPT_RUNS.with_priority() if is_new() else SCRIPT_RUNS)
        request_page_again()
        exporter()
        navigate()


@st.fragment(run_every=timedelta(days=1))
def request_page_again() -> None:
    """Render an empty fragment, which makes the browser request the page again after a reconnection.

    Without it, a restarted server would not run the page until the first click. That click would be lost,
    because the new server does not know the clicked widget yet.
    """
