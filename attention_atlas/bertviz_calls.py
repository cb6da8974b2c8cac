"""Functions with the names and arguments of BertViz and CircuitsVis, so that a notebook needs to change only an import.

Sources: Vig 2019, "A Multiscale Visualization of Attention in the Transformer Model"; Cooney and Nanda 2022,
"CircuitsVis". Here, every function opens the same attention browser at the requested view, of one layer or of all.
"""

from collections.abc import Sequence
from typing import Any

from attention_atlas.drawing import Drawing, display, trace_of
from transformer.values.trace import Trace


def head_view(
    attention: Any = None,
    tokens: Sequence[str] | None = None,
    sentence_b_start: int | None = None,
    prettify_tokens: bool = True,
    layer: int | None = None,
    heads: Sequence[int] | None = None,
    encoder_attention: Any = None,
    decoder_attention: Any = None,
    cross_attention: Any = None,
    encoder_tokens: Sequence[str] | None = None,
    decoder_tokens: Sequence[str] | None = None,
    include_layers: Sequence[int] | None = None,
    html_action: str = "view",
) -> Drawing | None:
    """Draw heads in one layer as lines between tokens.

    Args:
        attention, tokens: list of layers [1, H, rows, columns] and the rows' tokens, for a model with one stack.
        sentence_b_start: ignored, because one drawing shows both sentences.
        prettify_tokens: ignored, because tokens are always shown in readable form.
        layer, heads: 0-based layer and heads to show first.
        encoder_attention, decoder_attention, cross_attention, encoder_tokens, decoder_tokens: layers and tokens of an
            encoder-decoder.
        include_layers: 0-based layers; the lowest is shown first unless `layer` is given. The drawing always has all
            layers.
        html_action: "view" displays the drawing; "return" returns it, with the HTML as its `data`.

    Raises:
        AttentionError: the arguments are not valid attention; the message says what to do.
    """
    trace = _trace(
        attention, tokens, encoder_attention, decoder_attention, cross_attention, encoder_tokens, decoder_tokens
    )
    first = min(include_layers) if include_layers and layer is None else layer
    shown_heads = sorted(heads or ())
    opened = {"layer": first, "head": shown_heads[0] if shown_heads else None, "heads": tuple(shown_heads[1:])}
    return _result(Drawing(trace, look="lines", **opened), html_action)


def model_view(
    attention: Any = None,
    tokens: Sequence[str] | None = None,
    sentence_b_start: int | None = None,
    prettify_tokens: bool = True,
    display_mode: str = "dark",
    encoder_attention: Any = None,
    decoder_attention: Any = None,
    cross_attention: Any = None,
    encoder_tokens: Sequence[str] | None = None,
    decoder_tokens: Sequence[str] | None = None,
    include_layers: Sequence[int] | None = None,
    include_heads: Sequence[int] | None = None,
    html_action: str = "view",
) -> Drawing | None:
    """Draw all heads in all layers as small maps, and one head as a large map.

    Args:
        display_mode: ignored, because the drawing follows the theme of the notebook or of the system.
        include_heads: 0-based heads; the large map starts with the lowest. The small maps always show all heads.

    All other arguments are those of `head_view`.
    """
    trace = _trace(
        attention, tokens, encoder_attention, decoder_attention, cross_attention, encoder_tokens, decoder_tokens
    )
    first = {"layer": include_layers, "head": include_heads}
    opened: dict[str, Any] = {name: min(listed) for name, listed in first.items() if listed}
    return _result(Drawing(trace, **opened), html_action)


def attention_patterns(tokens: Sequence[str], attention: Any) -> Drawing:
    """Draw the attention of one layer's heads, [H, rows, columns]. The arguments are those of
    `circuitsvis.attention.attention_patterns`.
    """
    return Drawing(trace_of(attention, tokens))


def _trace(attention: Any, tokens: Any, encoder: Any, decoder: Any, cross: Any, source: Any, target: Any) -> Trace:
    if attention is not None or tokens is not None:
        return trace_of(attention, tokens or ())
    return Trace.from_attention(
        encoder=encoder, decoder=decoder, cross=cross, source_tokens=source or (), target_tokens=target or ()
    )


def _result(drawing: Drawing, html_action: str) -> Drawing | None:
    return drawing if html_action == "return" else display(drawing)
