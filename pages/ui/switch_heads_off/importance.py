"""Shows every head's importance for the sentence, measured by removing each head and estimated from a gradient."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import streamlit as st

from attention_atlas.browser.labels import TITLES
from pages.ui.charts.matrix import heads_matrix
from pages.ui.charts.palette import diverging
from pages.ui.charts.tables import show_numbers
from pages.ui.components.experiment import embed_experiment
from pages.ui.components.save_as import show_clickable
from pages.ui.heads.kinds import head_markdown_link, head_title
from pages.ui.layout.roles import main_figure
from pages.ui.params.switch_heads_off import HeadSet, OffParams
from pages.ui.reading.sentence import Reading
from pages.ui.reading.translation import EMPTY_TRANSLATION
from pages.ui.state import session
from pages.ui.state.bind import bind
from pages.ui.switch_heads_off.export import save_tables
from pages.ui.text.differences import marked_words
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from pages.ui.text.modes import MODES
from pages.ui.text.number_format import typeset
from pages.ui.text.python_lines import importance_lines
from transformer.ablation.effect import Effect, EffectRun
from transformer.ablation.estimate import mean_over_draws
from transformer.ablation.importance import ByHead, ImportanceRun, MeasuredImportance, concatenated_heads
from transformer.config import TransformerConfig
from transformer.values.interventions import Interventions, all_heads
from transformer.values.kinds import KINDS, Kind

# Session-state key that is set by the button at the top of the page, and removed when the page has scrolled.
SCROLL_REQUESTED = "_led_to_importance"
# Scrolls the section's heading to just below the menu bar.
SCROLL_SCRIPT = """<script>
const found = document.querySelector(".st-key-off_importance");
found.style.scrollMarginTop = "130px";
found.scrollIntoView();
</script>"""
CHANGE = "change in the log-probability without the head, in nats"


def scroll_to_importance() -> None:
    """Show a button that measures each head's importance and scrolls to the result; call it at the top of the page."""

    def measure() -> None:
        session.update(OffParams, importance=True)
        st.session_state[SCROLL_REQUESTED] = True

    st.button("What is each head worth?", icon=":material/south:", type="tertiary", on_click=measure)


def show_importance(reading: Reading, *, main: bool = False) -> None:
    """Show maps of head importance, but only on request, because they need one model run per head.

    Args:
        main: whether a map is the page's main figure.
    """
    params = session.params(OffParams)
    st.subheader("What is each head worth for this sentence?", anchor=False)
    st.toggle(
        f"Switch each of the {len(all_heads(reading.translator.config))} heads off on its own, and measure the effect",
        help="Runs the model once for every head: a second or two for a short sentence, ten or more for a long one. If "
        "heads are replaced by their output for another sentence, every head takes one run per draw.",
        **bind(OffParams, "importance"),
    )
    if st.session_state.pop(SCROLL_REQUESTED, False):
        st.html(SCROLL_SCRIPT, unsafe_allow_javascript=True)
    if not params.importance:
        return
    experiment = embed_experiment(reading.runs, run := ImportanceRun(reading.run, params.mode, **params.drawn))
    importance = reading.runs.get(run)
    worst = all_heads(reading.translator.config)[int(concatenated_heads(importance.measured).argmin())]
    off = Interventions({worst: 0.0}, params.mode, seed=params.seed)
    without = reading.runs.get(EffectRun(reading.run, off, params.draws))
    st.markdown(
        describe_importance(
            importance,
            reading.translator.config,
            head_name=head_markdown_link,
            then="" if reading.given else describe_translation(without),
        ),
        help=explain("head", "log-probability", "nats", "Spearman's ρ"),
    )
    most = (
        max(float(np.nanmax(np.abs(concatenated_heads(each)))) for each in (importance.measured, importance.estimated))
        or 1.0
    )
    for name, title, values in (
        (
            "measured",
            f"**Measured**: {CHANGE}; the head is replaced by {MODES[params.mode]}"
            + (f" (mean of {params.draws} draws)" if params.drawn else ""),
            importance.measured,
        ),
        (
            "estimated",
            "**Estimated** from one gradient: a first-order approximation of the change if the head's "
            "output is set to zero",
            importance.estimated,
        ),
    ):
        st.markdown(title)
        for column, kind in zip(st.columns(3, gap="medium"), KINDS, strict=True):
            with (
                column,
                main_figure(
                    f"**{TITLES[kind]}, importance of each head:** {markdown(reading.trace.source_text)}",
                    f"Layer {worst[1] + 1}, head {worst[2] + 1} is needed most; blue: the translation is less likely "
                    "without the cell's head",
                    when=main and name == "measured" and kind == worst[0],
                ),
            ):
                st.markdown(TITLES[kind])
                _show_board(values, kind, name, most)
    st.caption(
        "All six maps share one scale. Its middle means no change. Blue: the translation is less likely "
        "without the head. Red: the translation is more likely without it. Click a cell to switch off only that head; "
        "with the keyboard, use the switches above.",
        help=explain("head", "log-probability", "nats"),
    )
    table = importance_table(importance)
    show_numbers(table, "off_importance_numbers", digits=4, label="The numbers for every head")
    save_tables(
        reading,
        experiment,
        Interventions(mode=params.mode),
        table,
        "head_importance",
        spearman=round(importance.agreement, 6),
        lines=importance_lines(
            reading.trace, params.mode, folder=reading.translator.folder, given=reading.given, **params.drawn
        ),
        **params.drawn,
    )


def describe_importance(
    importance: MeasuredImportance,
    config: TransformerConfig,
    *,
    head_name: Callable[[Kind, int, int], str] = head_title,
    then: str = "",
) -> str:
    """Return Markdown that names the most and least important heads, and says how well the gradient ranks all heads.

    Args:
        head_name: returns a head's name.
        then: text that ends the first sentence by describing the translation without the most important head.
    """
    heads, changes = all_heads(config), concatenated_heads(importance.measured)
    worst, best = int(changes.argmin()), int(changes.argmax())
    likelier, least = int((changes > 0).sum()), int(np.abs(changes).argmin())
    agreement = importance.agreement
    description = (
        f"The translation needs {head_name(*heads[worst])} most: without this head, the log-probability changes by "
        f"**{typeset(changes[worst], '+.2f')}** nats{then or '.'} Without {head_name(*heads[least])}, hardly anything "
        f"changes ({typeset(changes[least], '+.4f')}). For **{likelier} of {len(heads)}** heads, the translation "
        f"is more likely without the head, most of all without {head_name(*heads[best])} "
        f"({typeset(changes[best], '+.2f')}). "
    )
    if not np.isfinite(agreement):
        return description
    return description + (
        f"The gradient's estimate ranks the heads {describe_correlation(agreement)}: Spearman's ρ = "
        f"{typeset(agreement)} "
        f"({len(heads)} heads, this sentence)."
    )


def describe_translation(effect: Effect) -> str:
    """Return a Markdown clause that says how the translation changes; it ends a sentence about the log-probability."""
    if effect.draws > 1:
        return f", and the translation stays the same in **{effect.unchanged} of {effect.draws} draws**."
    if effect.first_difference is None:
        return ", yet the model still writes the same translation."
    translation = effect.free.target_text
    # Do not add a full stop after a translation that already ends with punctuation.
    end = "" if translation.rstrip().endswith((".", "!", "?", "…")) else "."
    return (
        f", and the model writes “{marked_words(effect.before.target_text, translation)[1] or EMPTY_TRANSLATION}”{end}"
    )


def describe_correlation(agreement: float) -> str:
    """Return a phrase that describes a rank correlation, such as "in almost the same order"."""
    for least, how in ((0.9, "almost"), (0.7, "much"), (0.4, "roughly")):
        if agreement >= least:
            return f"in {how} the same order"
    return "in a different order"


def importance_table(importance: MeasuredImportance) -> pd.DataFrame:
    """Return a table with one row per head: attention kind, 1-based layer and head, measured and estimated change.

    Changes are in nats. If several sentences were sampled, the columns `low` and `high` contain the ends of the
    measured change's 95% interval.
    """
    has_draws = len(importance.drawn[KINDS[0]]) > 1
    rows = []
    for kind in KINDS:
        interval = mean_over_draws(importance.drawn[kind]) if has_draws else None
        for (layer, head), value in np.ndenumerate(importance.measured[kind]):
            rows.append(
                {
                    "kind": TITLES[kind],
                    "layer": layer + 1,
                    "head": head + 1,
                    "measured": float(value),
                    **(
                        {}
                        if interval is None
                        else {"low": float(interval.low[layer, head]), "high": float(interval.high[layer, head])}
                    ),
                    "estimated": float(importance.estimated[kind][layer, head]),
                }
            )
    return pd.DataFrame(rows)


def _show_board(values: ByHead, kind: Kind, name: str, most: float) -> None:
    show_clickable(
        heads_matrix(values[kind], name="less … more likely without the head", scale=diverging(most)),
        key=f"off_{name}_{kind}",
        clicked=lambda layer, head: session.update(OffParams, heads=HeadSet(((kind, layer, head),))),
        alt=f"{name.capitalize()} {CHANGE}, for {TITLES[kind].lower()}; the table below has the numbers.",
    )
