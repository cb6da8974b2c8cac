"""Shows two properties of sinusoids: dot products depend only on the offset, and a rotation shifts any position."""

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from pages.ui.charts.heatmap import heatmap
from pages.ui.charts.matrix import matrix
from pages.ui.charts.palette import BITS, diverging
from pages.ui.charts.tables import frame, show_numbers, show_table
from pages.ui.components.save_as import show_altair, show_plotly
from pages.ui.layout.roles import main_figure
from pages.ui.params.positional_encoding import PositionsParams
from pages.ui.positional_encoding.offsets import over_offset, show_pairs
from pages.ui.state import session
from pages.ui.state.bind import bind_number
from pages.ui.text.number_format import typeset
from transformer.analysis.positions import Offsets, binary_counter, by_offset, distances, dot_products, rotation
from transformer.model.sinusoids import frequencies, sinusoids

# The page shows at most this many rows and columns of the rotation matrix. With more, cells would be too small to see.
MAX_DIMENSIONS = 64
PAIRS_SHOWN = 4


def show_distances() -> None:
    """Show dot products and distances of encodings, the rotation that shifts positions, and the binary counter."""
    encoding = session.params(PositionsParams)
    width = encoding.across // 2 * 2
    with st.container(horizontal=True, width=420):
        st.number_input("Positions", **bind_number(PositionsParams, "reach"))
        st.number_input("Width D (even)", step=2, **bind_number(PositionsParams, "across", value=width))
    table = sinusoids(encoding.reach, width)
    _show_offsets(table)
    _show_rotation(table, encoding)
    _show_counter(encoding)


def _show_offsets(table: np.ndarray) -> None:
    length, width = table.shape
    matrices = {"Dot product": dot_products(table), "Distance": distances(table)}
    for place, (title, values) in zip(st.columns(2, gap="medium"), matrices.items(), strict=True):
        name = title.lower()
        offsets = by_offset(values)
        with (
            place,
            main_figure(
                "**Positional encoding:** only the offset between two positions counts",
                "Dot products are equal along each diagonal, and largest on the main one",
                when=name == "dot product",
            ),
        ):
            st.markdown(f"**{title} for every pair of positions**")
            show_pairs(
                values,
                name,
                key=f"positions_{name}",
                description=f"{title} for every pair among {length} positions: values on each diagonal are equal.",
                height=380,
            )
        with place:
            show_altair(
                offset_chart(offsets, name),
                key=f"positions_{name}_offset",
                alt=f"{title} by the offset between two positions; {offsets.mean[0]:.4f} at offset 0.",
                sentence="",
            )
            st.markdown(
                f"**Only the offset counts:** values of pairs that are equally far apart differ by at most "
                f"**{typeset(offsets.spread.max(), '.1e')}**, which is a rounding error."
            )
            show_numbers(
                pd.DataFrame(
                    {"offset": offsets.offsets, f"mean {name}": offsets.mean, "largest minus smallest": offsets.spread}
                ),
                f"positions_{name}_numbers",
                label=f"{title} by offset",
                digits=10,
            )
            show_numbers(
                frame(values, None, None, corner="position", first=(1, 1)),
                f"positions_{name}_matrix",
                label=f"{title} for every pair of positions",
            )
    st.caption(
        "sin a · sin b + cos a · cos b = cos(a − b): each pair of dimensions adds cos(offset × frequency) to "
        "the dot product, wherever the two positions are. The dot product of an encoding with itself is "
        f"D / 2 = {width / 2:g}, so every encoding has the norm √(D/2) = {np.sqrt(width / 2):.2f}."
    )


def offset_chart(offsets: Offsets, name: str) -> alt.Chart:
    """Return a line chart of the mean value by offset."""
    table = pd.DataFrame({"offset": offsets.offsets, "value": offsets.mean})
    return over_offset(alt.Chart(table).mark_line(point=len(offsets.offsets) <= 64), name, height=220, zero=False)


def _show_rotation(table: np.ndarray, encoding: PositionsParams) -> None:
    """Build the rotation that shifts every position by k, show it, and check it on all positions."""
    st.subheader("One linear map shifts every position by k", anchor=False)
    length, width = table.shape
    control, picture = st.columns([5, 4], gap="large")
    with control.container(horizontal=True):
        st.number_input("Shift by k positions", **bind_number(PositionsParams, "offset"))
        st.number_input("Example position", **bind_number(PositionsParams, "start", maximum=length))
    offset, start = encoding.offset, min(encoding.start, length)
    # Compute the encodings from the formula, because positions shifted by k may lie before or after those in the table.
    further = _encodings(np.arange(length) + offset, width)
    turned = table @ rotation(offset, width).T
    with control:
        st.latex(
            r"\begin{gathered} M_k = \mathrm{diag}(R_0, R_1, \dots), \quad \omega_i = 10000^{-2i/D} \\ "
            r"R_i = \begin{pmatrix} \cos k\omega_i & \sin k\omega_i \\ -\sin k\omega_i & \cos k\omega_i \end{pmatrix} "
            r"\end{gathered}"
        )
        st.markdown(
            f"M for k = {offset}, checked on all {length} positions: the largest difference between M·PE(p) and "
            f"PE(p {'+' if offset >= 0 else '−'} {abs(offset)}) is "
            f"**{typeset(np.abs(turned - further).max(), '.1e')}**. M turns each pair of dimensions like the "
            "hand of a clock, the first pair furthest. M does not depend on the position p."
        )
        pairs = min(PAIRS_SHOWN, width // 2)
        show_table(
            pd.DataFrame(
                {
                    "dimension": range(2 * pairs),
                    "rotation angle, radians": np.repeat(offset * frequencies(width)[:pairs], 2),
                    f"PE({start})": table[start - 1, : 2 * pairs],
                    f"M · PE({start})": turned[start - 1, : 2 * pairs],
                    f"PE({start + offset})": further[start - 1, : 2 * pairs],
                }
            ),
            "positions_turned",
        )
    shown_width = min(width, MAX_DIMENSIONS)
    with picture:
        st.markdown(f"**The first {shown_width} dimensions of M**" if shown_width < width else "**M**")
        show_plotly(
            heatmap(
                rotation(offset, width)[:shown_width, :shown_width],
                titles=("dimension out", "dimension in"),
                name="entry",
                height=400,
            ),
            key="positions_rotation",
            alt="The matrix M: 0 except for two-by-two blocks along the diagonal.",
            sentence="",
        )
        show_numbers(
            frame(rotation(offset, width)[:shown_width, :shown_width], None, None, corner="dimension out"),
            "positions_rotation_numbers",
        )


def _encodings(positions: np.ndarray, width: int) -> np.ndarray:
    """Return the encodings of positions, which may be negative: [P] to [P, D]."""
    angles = positions[:, None] * frequencies(width)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(positions), width)


def _show_counter(encoding: PositionsParams) -> None:
    st.subheader("A binary counter, made smooth", anchor=False)
    st.number_input("Bits", width=200, **bind_number(PositionsParams, "bits"))
    bits, length = encoding.bits, 2 ** min(encoding.bits, 5)
    positions = [str(position) for position in range(1, length + 1)]
    counter, waves = binary_counter(length, bits), sinusoids(length, 2 * bits)
    for place, (title, values, names, scale, columns) in zip(
        st.columns(2, gap="medium"),
        (
            ("Counting in base two", counter, "bit", alt.Scale(domain=[0, 1], range=BITS), bits),
            (f"The encoding, D = {2 * bits}", waves, "value", diverging(1.0), 2 * bits),
        ),
        strict=True,
    ):
        labels = [str(column) for column in range(columns)]
        with place:
            st.markdown(f"**{title}**")
            show_altair(
                matrix(
                    values,
                    positions,
                    labels,
                    name=names,
                    scale=scale,
                    legend=names == "value",
                    titles=("position", "bit, fastest first" if names == "bit" else "dimension"),
                ),
                key=f"positions_counter_{names}",
                alt=f"{title}: {length} positions.",
                sentence="",
            )
            show_numbers(
                frame(values, None, None, corner="position", first=(1, 0)), f"positions_counter_{names}_numbers"
            )
    st.caption(
        "The map on the left shows binary numbers (dark is 1, light is 0), starting with 0 at position 1. Bit b "
        "changes every 2^b positions, so its wavelength is 2^(b+1). From bit to bit, as from one pair of dimensions to "
        "the next, the wavelength grows by a fixed factor. Sines and cosines are a smooth version of such a counter. "
        "Unlike bits, they can be shifted to another position by a linear map."
    )
