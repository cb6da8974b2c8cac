"""Shows the attention maps of a text typed by the user, with full, local and compressed attention."""

from collections.abc import Mapping

import streamlit as st

from attention_atlas.browser.token_labels import token_label
from pages.ui.components.side_by_side import Map, side_by_side
from pages.ui.components.text_box import text_box
from pages.ui.layout.roles import main_figure
from pages.ui.long_texts.models import MAX_TOKENS, map_of
from pages.ui.long_texts.names import NAMES
from pages.ui.params.long_texts import ALL, HEADS, LAYERS, LongTextsParams
from pages.ui.state import session
from pages.ui.state.bind import bind, segments
from pages.ui.text.glossary import explain
from pages.ui.text.server_paths import error_text
from transformer.config import Attention
from transformer.errors import AtlasError, TextError
from transformer.language_modelling.attention_map import AttentionMap
from transformer.language_modelling.cost import ATTENTIONS
from transformer.text.normalisation import replace_surrogates

# Reject longer texts before tokenization, which could take seconds. Every text that fits into a map is shorter.
MAX_CHARACTERS = 1_000


def pick_map() -> None:
    """Show controls for attention kind, layer and head beside the page's tabs, to leave room for the maps."""
    names = {ALL: "All three", **NAMES}
    segments("Attention", names, LongTextsParams, "attention", label_visibility="collapsed")
    for name, count in (("layer", LAYERS), ("head", HEADS)):
        st.selectbox(
            name.capitalize(),
            range(count),
            format_func=lambda number, name=name: f"{name.capitalize()} {number + 1}",
            width=95,
            label_visibility="collapsed",
            **bind(LongTextsParams, name),
        )


def show_maps() -> None:
    """Show a text box, and the attention maps of the text in it."""
    params = session.params(LongTextsParams)
    text = params.text
    text_box(
        "long_text",
        text,
        _read,
        label=f"Text, up to {MAX_TOKENS} tokens",
        placeholder="Type two or three sentences …",
        button="Show the maps",
        primary=True,
        help=f"Token: {explain('token')}",
    )
    attentions: list[Attention] = [each for each in ATTENTIONS if params.attention in (ALL, each)]
    try:
        if len(text) > MAX_CHARACTERS:
            raise TextError(
                f"This text has {len(text):,} characters. Shorten it to at most {MAX_CHARACTERS:,} characters and "
                f"{MAX_TOKENS} tokens."
            )
        maps: dict[Attention, AttentionMap] = {attention: map_of(attention, text) for attention in attentions}
    except AtlasError as error:
        st.warning(error_text(error), icon=":material/edit:")
        return
    with main_figure(describe_sizes(maps), "Hatched cells are masked; rows are queries, columns are keys"):
        side_by_side(
            [
                side_map(attention, attention_map, text, params.layer, params.head)
                for attention, attention_map in maps.items()
            ],
            "long_maps",
            sentence=f"Text: {text}",
        )
    st.markdown(describe_sizes(maps), help=explain("attention weight", "mask", "key"))
    st.caption(
        "Each row shows the attention of one token; the weights in a row add up to 1. Hatched cells are masked and not "
        "computed: no token sees later tokens, and with local attention no token sees another block. With compressed "
        "attention, a column stands for three tokens, which a convolution has merged into one key and one value. A "
        "token sees a column only once all three tokens have been read, so the first two rows are empty. "
        "The three models are small and were trained on the same texts."
    )


def _read(typed: str) -> None:
    session.update(LongTextsParams, text=replace_surrogates(typed))


def side_map(attention: Attention, attention_map: AttentionMap, text: str, layer: int, head: int) -> Map:
    """Return one head's map for `side_by_side`."""
    labels = [token_label(token, text) for token in attention_map.tokens]
    columns = ["".join(labels[row] for row in rows) for rows in attention_map.columns]
    return Map(
        title_of(attention, attention_map), labels, columns, attention_map.weights[layer, head], attention_map.allowed
    )


def title_of(attention: Attention, attention_map: AttentionMap) -> str:
    """Return a map's title: the kind of attention, the block size if there are blocks, and the size of the map."""
    rows, columns = attention_map.allowed.shape
    blocks = f", in blocks of {attention_map.config.block}" if attention == "local" else ""
    return f"{NAMES[attention]}{blocks}: {rows} × {columns}"


def describe_sizes(maps: Mapping[Attention, AttentionMap]) -> str:
    """Return Markdown that states how many cells each kind of attention computes."""
    length = len(next(iter(maps.values())).tokens)
    parts = [f"{NAMES[attention].lower()} {attention_map.cells:,}" for attention, attention_map in maps.items()]
    return f"**{length} tokens; cells to compute in every head:** {', '.join(parts)}."
