"""Compares greedy decoding, beam search and sampling on one sentence."""

import pandas as pd
import streamlit as st

from pages.ui.charts.tables import draw_table, visible_cells
from pages.ui.params.decoding import DecodingParams
from pages.ui.reading.sentence import Reading
from pages.ui.state import session
from pages.ui.text.glossary import explain
from pages.ui.text.number_format import typeset
from transformer.running.runs.translation import TranslationRun
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.translation import Translation

SAMPLES = 3
# Height of a row in pixels: twice the usual height, because Streamlit wraps text only in rows of at least this height.
ROW_HEIGHT = 72
# Columns with values in nats.
NATS = ("log-probability", "per token")


def show_methods_compared(reading: Reading) -> None:
    """Show an expander with the translations by greedy decoding, beam search and three samples.

    The translations are computed only while the expander is open.
    """
    part = st.expander("Methods compared: greedy, beam, three samples", key="ways", on_change="rerun")
    if not part.open:
        return
    params = session.params(DecodingParams)
    methods = {
        "greedy": DecodingSettings(),
        f"beam {params.beam_size}": DecodingSettings(
            "beam", beam_size=params.beam_size, length_penalty=params.length_penalty
        ),
        **{
            f"sample, seed {params.seed + number}": DecodingSettings(
                "sample",
                temperature=params.temperature,
                top_k=params.top_k,
                top_p=params.top_p,
                seed=params.seed + number,
            )
            for number in range(SAMPLES)
        },
    }
    with part:
        translations = {
            name: reading.runs.get(TranslationRun(reading.trace.source_text, settings))
            for name, settings in methods.items()
        }
        table = comparison(translations, reading.languages.target.name)
        draw_table(
            table,
            "ways_table",
            shown=visible_cells(table).style.format(dict.fromkeys(NATS, typeset)),
            row_height=ROW_HEIGHT,
            column_config={
                "method": st.column_config.TextColumn(width=110),
                reading.languages.target.name: st.column_config.TextColumn(width=380),
                "log-probability": st.column_config.NumberColumn(help=explain("log-probability", "nats")),
                "per token": st.column_config.NumberColumn(
                    help="Log-probability divided by the number of tokens, in nats"
                ),
                "tokens": st.column_config.NumberColumn(help=explain("token")),
                "hypotheses": st.column_config.NumberColumn(help=explain("hypothesis", "beam")),
            },
        )
        st.caption(
            f"Beam search uses the length penalty above ({params.length_penalty:g}), and sampling uses the temperature "
            f"above ({params.temperature:g}). The log-probability includes the end symbol. Beam search looks for a "
            "translation with a high log-probability; sampling does not. The last column shows the amount of work: "
            f"beam search extends up to {params.beam_size} hypotheses in parallel, the other methods only one. Times "
            "are not shown, because a single short run says little about a method's speed.",
            help=explain("greedy", "beam", "length penalty", "sampling", "temperature", "top-k", "top-p", "seed"),
        )


def comparison(translations: dict[str, Translation], target: str) -> pd.DataFrame:
    """Return a table of translations with one row per decoding method.

    Args:
        translations: the translations, by method.
        target: the target language, used as a column heading.
    """
    return pd.DataFrame(
        [
            {
                "method": name,
                target: each.text,
                "log-probability": each.log_prob,
                "per token": each.log_prob / len(each.tokens),
                "tokens": len(each.tokens),
                "hypotheses": each.settings.beam_size if each.settings.method == "beam" else 1,
            }
            for name, each in translations.items()
        ]
    )
