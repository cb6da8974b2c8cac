"""Shows how the attention in later layers changes when heads are switched off."""

import streamlit as st

from attention_atlas.browser.labels import TITLES
from pages.ui.charts.downloads import save_trace
from pages.ui.components.changed_attention import Version, changed_attention
from pages.ui.params.switch_heads_off import OffParams
from pages.ui.reading.sentence import Reading
from pages.ui.state import session
from pages.ui.state.bind import segments
from transformer.ablation.effect import Effect, EffectRun
from transformer.analysis.heads.metrics import head_metrics
from transformer.values.interventions import Interventions


def show_later_layers(reading: Reading, interventions: Interventions, draws: int, effect: Effect, what: str) -> None:
    """Show every head's attention map without and with the interventions, and the difference between the two maps.

    In both runs, the model reads the same translation.

    Args:
        interventions: the interventions.
        draws: the number of sentences from which replacement outputs are sampled.
        effect: the measured effect of the interventions.
        what: a description of the interventions.
    """
    st.markdown("**What the other heads look at now**")
    segments("Attention", TITLES, OffParams, "kind", label_visibility="collapsed")
    kind = session.params(OffParams).kind
    scores = reading.translator.tokenizer.key_scores(kind)
    changed_attention(
        Version(effect.after, head_metrics(effect.after, kind, scores)),
        Version(effect.before, reading.metrics(kind)),
        f"off_{kind}_browser",
        what,
    )
    st.caption(
        "Both runs read the same translation. Layers before the first changed head stay the same; *the difference* "
        "shows what happens in the layers after that head. A head that is off still attends, but its output is "
        "discarded."
    )
    runs, run = reading.runs, EffectRun(reading.run, interventions, draws)
    save_trace(lambda: runs.get(run).after, "off")
