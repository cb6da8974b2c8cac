"""Shows the norms of embeddings and position vectors, and the parameter counts for adding or concatenating the two."""

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from attention_atlas.browser.token_labels import token_label
from pages.ui.charts.matrix import AXIS
from pages.ui.charts.palette import SERIES
from pages.ui.charts.series import series_colour
from pages.ui.charts.tables import draw_table, numbered_labels, show_table
from pages.ui.components.save_as import show_altair
from pages.ui.layout.roles import main_figure
from pages.ui.reading.sentence import Reading
from pages.ui.state.architecture_form import architecture_form
from pages.ui.text.markup import markdown
from transformer.analysis.replay.embedding import EmbeddedText, embedded_text
from transformer.model.encodings import ENCODINGS
from transformer.model.parameter_counts import concatenation_table


def show_addition(reading: Reading) -> None:
    """Show the vector norms for the user's sentence, and how many parameters a model has with added or concatenated
    position vectors.
    """
    trace = reading.detailed()
    text = embedded_text(trace, reading.weights(), "encoder")
    labels = [token_label(token, trace.source_text) for token in trace.source_tokens]
    st.subheader("How long are the vectors that are added?", anchor=False)
    norms = norm_table(text, labels)
    picture, words = st.columns([5, 4], gap="large")
    with picture, main_figure(f"**How long are the vectors that are added?** {markdown(reading.own.source_text)}"):
        show_altair(
            norm_chart(norms),
            key="positions_norms",
            alt="Norms of each token's embedding, scaled embedding and position vector, and of the sum of scaled "
            "embedding and position vector.",
        )
    with words:
        st.markdown(_why_scaled(text))
    show_table(norms, "positions_norm_numbers", digits=4)
    st.subheader("What would it cost to place the vectors side by side?", anchor=False)
    st.markdown(
        "Suppose that the position vector, as wide as the embedding, is placed *beside* the embedding. Then the "
        "residual stream becomes 2D wide, and so does every matrix that reads from it or writes to it. The number of "
        "heads, the feed-forward width F and the width D of the embeddings themselves stay the same. The output layer "
        "needs its own matrix even if it now shares the target embedding, because it reads 2D numbers."
    )
    config = architecture_form(reading.translator.config)
    encoding = ENCODINGS[config.positions]
    if not encoding.learned and encoding.table(1, config.d_model) is None:
        st.info("This configuration has no position vectors, so there is nothing to put beside the embeddings.")
        return
    rows = concatenation_table(config)
    table = pd.DataFrame(
        {
            "part": [row.part for row in rows],
            "added": [row.added for row in rows],
            "concatenated": [row.concatenated for row in rows],
        }
    )
    total = table[["added", "concatenated"]].sum()
    table.loc[len(table)] = ["all parts", *total]
    table["times"] = [
        f"{both / one:.2f}" if one else "new" for one, both in zip(table["added"], table["concatenated"], strict=True)
    ]
    left, right = st.columns([2, 5], gap="large")
    with left:
        st.metric("Added", f"{total['added']:,}")
        st.metric(
            "Concatenated",
            f"{total['concatenated']:,}",
            f"{total['concatenated'] - total['added']:+,}",
            delta_color="off",
        )
    with right:
        draw_table(
            table,
            "positions_cost",
            column_config=dict.fromkeys(["added", "concatenated"], st.column_config.NumberColumn(format="localized")),
        )


def norm_table(text: EmbeddedText, labels: list[str]) -> pd.DataFrame:
    """Return a table with one row per token.

    The columns include the norms of the embedding, the positional encoding and their sum, and the cosine similarity
    between embedding and encoding.
    """

    def norms(array: np.ndarray) -> np.ndarray:
        return np.linalg.norm(array, axis=-1)

    table = {"token": numbered_labels(labels), "embedding": norms(text.tokens)}
    if text.scale != 1:
        table["scaled embedding"] = norms(text.scaled)
    if text.positions is not None:
        table["position"] = norms(text.positions)
        table["cosine similarity"] = (text.scaled * text.positions).sum(axis=-1) / (
            norms(text.scaled) * norms(text.positions)
        )
    return pd.DataFrame({**table, "sum": norms(text.summed)})


def norm_chart(norms: pd.DataFrame) -> alt.Chart:
    """Return a line chart of vector norms by position, with one line per kind of vector."""
    names = [name for name in ("embedding", "scaled embedding", "position", "sum") if name in norms]
    table = norms.assign(at=range(1, len(norms) + 1)).melt(["at", "token"], names, "vector", "norm")
    return (
        alt.Chart(table)
        .mark_line(point={"size": 60})
        .encode(
            x=alt.X(
                "at:O", title="token position, from 1", axis=alt.Axis(labelAngle=0, **{**AXIS, "labelOverlap": True})
            ),
            y=alt.Y("norm:Q", title="Euclidean norm", axis=alt.Axis(**AXIS)),
            color=series_colour("vector", dict(zip(names, SERIES, strict=False)), columns=2),
            tooltip=["token:N", "vector:N", alt.Tooltip("norm:Q", format=".4f")],
        )
        .properties(height=320)
    )


def _why_scaled(text: EmbeddedText) -> str:
    """Return Markdown that compares vector norms in the user's sentence, and explains the scaling of embeddings."""
    width = text.tokens.shape[1]
    plain, scaled = (np.linalg.norm(each, axis=-1).mean() for each in (text.tokens, text.scaled))
    sentences = [f"On average over this sentence, an embedding has a norm of **{plain:.2f}**."]
    if text.positions is not None:
        position = np.linalg.norm(text.positions, axis=-1).mean()
        sentences.append(
            f"A position vector has a norm of **{position:.2f}**: without scaling, it would be "
            f"{position / plain:.2f} times as long as the embedding."
        )
    if text.scale != 1:
        sentences.append(
            f"So the model multiplies the embedding by √D = √{width} = {text.scale:.2f} (section 3.4 of the paper). "
            f"The norm becomes **{scaled:.2f}**, and the word outweighs its position. The embedding matrix itself "
            "stays small, which is necessary if the output layer shares it."
        )
    else:
        sentences.append("This model does not scale its embeddings.")
    return "\n\n".join(sentences)
