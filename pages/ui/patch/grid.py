"""Grid with the effect of each single patch at one site of the model, and controls for choosing a patch."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from attention_atlas.browser.token_labels import label_without_space
from pages.ui.charts.matrix import matrix
from pages.ui.charts.palette import LIGHT, conditional_colour, transparent_diverging
from pages.ui.charts.tables import show_numbers
from pages.ui.components.experiment import embed_experiment
from pages.ui.components.save_as import show_clickable
from pages.ui.layout.roles import main_figure
from pages.ui.params.patch import DIRECTIONS, Direction, PatchParams
from pages.ui.patch.labels import both_sentences, cell_labels, site_name, source_labels, token_labels
from pages.ui.patch.question import PatchingPair, grid_unit
from pages.ui.patch.two_runs import show_runs
from pages.ui.state import session
from pages.ui.state.bind import bind, key_for, preset
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from transformer.ablation.patching import MIN_DIFFERENCE, Contrasts, GridRun, Patches, head_patches, partner_positions
from transformer.values.patches import PATCH_SITES, PatchSite, Place, has_heads, is_residual, kind_of, stack_of

ASKS: dict[Direction, str] = {"needed": "needed? (noising)", "enough": "enough? (denoising)"}
NO_PARTNER = "no partner"
# For changes in nats, the colour scale reaches at least this many times MIN_DIFFERENCE, so that small changes look
# faint.
FAINT_SCALE = 6


@dataclass(frozen=True)
class ChosenPatch:
    """The patch that the page shows.

    Attributes:
        patches: activations to overwrite in the run on sentence A, each with the position in sentence B to copy from.
        label: a description of these activations.
    """

    patches: Patches
    label: str


def show_grid(pair: PatchingPair) -> ChosenPatch:
    """Show the effect of each single patch, and controls for choosing a patch; return the chosen patch."""
    params = session.params(PatchParams)
    site, direction = params.site, params.direction
    # The controls share one row, even on a projector 1024 pixels wide.
    with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall"):
        st.selectbox(
            "Is the value …",
            DIRECTIONS,
            format_func=ASKS.__getitem__,
            width=220,
            **bind(PatchParams, "direction"),
            help="Noising: run A with one value from B's run. If A's choice turns into B's, A needs its own value. "
            "Denoising: run B with one value from A's run. If A's choice comes back, that value is enough. The two "
            "answers may differ: if two values do the same job, neither is needed, but either is enough.",
        )
        st.selectbox(
            "Patch",
            PATCH_SITES,
            format_func=lambda each: site_name(each).replace("Cross-attention", "Cross"),
            width=235,
            key=preset("patch_site", site),
            on_change=_forget_cell,
        )
        pickers = st.container(horizontal=True, vertical_alignment="bottom", width="content", gap="xsmall")
    columns = partner_positions(site, pair.a, pair.b, pair.question.step)
    contrasts, values = grid_values(pair, site, direction, columns)
    embed_experiment(pair.reading.runs, grid_run(pair, site, direction))
    unit = grid_unit(contrasts)
    cell = _cell(values, params)
    with pickers:
        patch = _pick(pair, site, columns, cell)
    rows, labels = _labels(pair, site, columns, values.shape)
    largest = float(np.nanmax(np.abs(values), initial=0))
    most = max(largest, 1.0 if unit == "effect" else FAINT_SCALE * MIN_DIFFERENCE)
    if unit != "effect" and largest < MIN_DIFFERENCE:
        st.markdown(
            f"**Too small to interpret:** every patch here shifts the preference by less than {MIN_DIFFERENCE:g} nats."
        )
    with main_figure(
        both_sentences(pair.question.text, pair.question.other),
        f"**Is the value {ASKS[direction].partition(' (')[0]}** Patched: {site_name(site)}. Measured: choice between "
        f"{pair.token_markdown(0)} and {pair.token_markdown(1)}",
    ):
        show_clickable(
            matrix(
                np.nan_to_num(values),
                rows,
                labels,
                name=unit,
                scale=transparent_diverging(most),
                mask=np.isfinite(values),
                masked=NO_PARTNER,
                marks=("effect", cell_labels(values)) if unit == "effect" else None,
                picked=cell,
                ink=conditional_colour(f"abs(datum.value) > {0.5 * most}", LIGHT, "currentColor"),
                outlined=True,
                titles=("depth" if is_residual(site) else "layer", "head" if has_heads(site) else "token"),
            ),
            key="patch_grid",
            clicked=_store_cell,
            alt=f"Results ({unit}) of separate patches ({site_name(site).lower()}); the table below has the numbers.",
        )
    st.caption(
        (
            "0: the patch changes nothing. 1: this value alone has the full effect of the changed word. Values can be "
            "below 0 or above 1. "
            if unit == "effect"
            else ""
        )
        + (
            "A head is patched at every token that has a partner in the other sentence; to patch one token, choose it "
            "above. "
            if has_heads(site)
            else "Depth 0 is the embedding"
            + (", so the effect at the changed word is 1 by definition" if unit == "effect" else "")
            + "; the last depth is the output of the last layer. "
            if is_residual(site)
            else ""
        )
        + "Click a cell to apply that patch below. Grey cells cannot be patched, because their tokens have no partner "
        "in the other sentence.",
        help=explain("residual stream", "head", "nats"),
    )
    show_runs(pair, site, rows, columns, patch.patches)
    show_numbers(
        pd.DataFrame(values, columns=[f"{index + 1}: {label}" for index, label in enumerate(labels)])
        .assign(row=rows)
        .set_index("row")
        .reset_index(),
        "patch_grid_numbers",
        digits=4,
    )
    return patch


def grid_run(pair: PatchingPair, site: PatchSite, direction: Direction) -> GridRun:
    """Return the model run that measures, by noising or denoising, the effect of each single patch at a site."""
    return GridRun(pair.question if direction == "needed" else pair.question.reversed, site)


def grid_values(
    pair: PatchingPair, site: PatchSite, direction: Direction, columns: dict[int, int]
) -> tuple[Contrasts, np.ndarray]:
    """Return the measurements for noising or denoising, and the grid of their values.

    Rows are layers or depths; columns are heads, or positions in sentence A or in the translation. Values are effects,
    or changes in nats if the two sentences differ too little for effects.

    Args:
        pair: the two sentences and the question about them.
        site: what to patch.
        direction: "needed" for noising, "enough" for denoising.
        columns: maps positions in the trace of sentence A to their partners in the trace of sentence B.
    """
    contrasts = pair.reading.runs.get(grid_run(pair, site, direction))
    values = contrasts.patched - contrasts.run if contrasts.effects is None else contrasts.effects
    if has_heads(site):
        return contrasts, values
    trace = pair.a
    width = len(trace.source_tokens) if stack_of(site) == "encoder" else pair.question.step + 1
    by_position = np.full((len(values), width), np.nan)
    for at, other in columns.items():
        by_position[:, at] = values[:, at if direction == "needed" else other]
    return contrasts, by_position


def _cell(values: np.ndarray, params: PatchParams) -> tuple[int, int]:
    """Return the row and column of the chosen cell or, by default, of the cell with the largest magnitude.

    Magnitudes are rounded to two decimal places. Among tied cells, the default is the rightmost cell of the last row.
    """
    if params.layer >= 0:
        column = params.head if has_heads(params.site) else max(params.at, 0)
        return min(params.layer, len(values) - 1), min(column, values.shape[1] - 1)
    sizes = np.nan_to_num(np.abs(values)).round(2)
    if is_residual(params.site):
        # Skip depth 0, where the effect of patching the changed word is 1 by definition.
        sizes[0] = 0
    row, column = np.argwhere(sizes == sizes.max())[-1].tolist()
    return row, column


def _labels(
    pair: PatchingPair, site: PatchSite, columns: dict[int, int], shape: tuple[int, ...]
) -> tuple[list[str], list[str]]:
    rows = [str(layer + (not is_residual(site))) for layer in range(shape[0])]
    if has_heads(site):
        return rows, [str(head + 1) for head in range(shape[1])]
    return rows, token_labels(pair, site, columns)[: shape[1]]


def _pick(pair: PatchingPair, site: PatchSite, columns: dict[int, int], cell: tuple[int, int]) -> ChosenPatch:
    """Show selection boxes for the patch, as a keyboard alternative to the grid, and return the chosen patch."""
    params, config = session.params(PatchParams), pair.reading.config
    heads, layers = has_heads(site), range(config.layers_of(kind_of(site)) + is_residual(site))
    layer, head = cell[0], cell[1] if heads else 0
    labels = token_labels(pair, site, columns)
    at = min(params.at, len(labels) - 1) if heads else cell[1]
    _show_box(
        "Depth" if is_residual(site) else "Layer",
        "layer",
        {each: str(each + (not is_residual(site))) for each in layers},
        layer,
        cell,
        width=76,
    )
    if heads:
        _show_box("Head", "head", {each: str(each + 1) for each in range(config.heads)}, head, cell, width=76)
    everywhere = {-1: "all tokens"} if heads else {}
    _show_box(
        "Token",
        "at",
        everywhere | {each: f"{each + 1}: {labels[each]}" for each in columns or [0]},
        at,
        cell,
        width=155,
    )
    partner = params.partner
    if not heads and stack_of(site) == "encoder":
        others = source_labels(pair.b)
        partner = partner if 0 <= partner < len(others) else columns.get(at, -1)
        choices = ({} if at in columns else {-1: "no partner"}) | {
            each: f"{each + 1}: {name}" for each, name in enumerate(others)
        }
        _show_box("Token in B", "partner", choices, partner, cell, width=130)
    else:
        partner = columns.get(at, -1)
    number = layer + (not is_residual(site))
    where = f"{site_name(site).lower()}, {'depth' if is_residual(site) else 'layer'} {number}"
    where += f", head {head + 1}" if heads else ""
    if heads and at < 0:
        return ChosenPatch(head_patches(site, layer, head, columns), where)
    place: Place = (site, layer, head, at)
    return ChosenPatch(
        ((place, partner),) if partner >= 0 else (), f"{where}, “{markdown(label_without_space(labels[at]))}”"
    )


def _show_box(
    label: str, field: str, choices: dict[int, str], value: int, cell: tuple[int, int], *, width: int
) -> None:
    """Show a selection box for one field of the patch; choosing a head or token also resets the field `partner`."""
    key = key_for(f"patch_{field}", choices.values())

    def store() -> None:
        heads = has_heads(session.params(PatchParams).site)
        fields = {"layer": cell[0], **({"head": cell[1]} if heads else {"at": cell[1]})}
        partner_field = {} if field in ("partner", "layer") else {"partner": -1}
        session.update(PatchParams, **{**fields, **partner_field, field: st.session_state[key]})

    st.selectbox(
        label,
        list(choices),
        format_func=choices.__getitem__,
        width=width,
        on_change=store,
        key=preset(key, value if value in choices else next(iter(choices))),
    )


def _forget_cell() -> None:
    session.update(PatchParams, site=st.session_state.patch_site, layer=-1, head=0, at=-1, partner=-1)


def _store_cell(row: int, column: int) -> None:
    place = {"head": column, "at": -1} if has_heads(session.params(PatchParams).site) else {"at": column}
    session.update(PatchParams, layer=row, partner=-1, **place)
