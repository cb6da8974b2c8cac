"""The outcome of a patch: the translation, the effect in both directions, and the cells that the patch can reach."""

from contextlib import suppress
from typing import Any

import streamlit as st

from attention_atlas.browser.token_labels import token_label
from pages.ui.charts.downloads import save_tables, show_lines
from pages.ui.charts.matrix import matrix
from pages.ui.charts.next_words import next_chart, next_words
from pages.ui.charts.palette import sequential
from pages.ui.charts.tables import show_numbers
from pages.ui.components.experiment import embed_experiment, experiment_buttons
from pages.ui.components.save_as import show_altair
from pages.ui.params.patch import DIRECTIONS, MAX_KEPT, Direction, KeptPatches, PatchParams
from pages.ui.patch.grid import ASKS, ChosenPatch
from pages.ui.patch.question import PatchingPair
from pages.ui.reading.translation import EMPTY_TRANSLATION
from pages.ui.state import session
from pages.ui.text.differences import marked_words
from pages.ui.text.glossary import explain
from pages.ui.text.number_format import typeset
from pages.ui.text.python_lines import patch_lines
from transformer.ablation.continuation import Continuation, ContinuationRun, RereadRun
from transformer.ablation.patching import (
    Patches,
    PatchingQuestion,
    PatchRun,
    influence_cone,
    patch_interventions,
    reversed_patches,
    stream_changes,
)
from transformer.errors import InterventionError
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.patches import patch_name
from transformer.values.trace import Trace

OUTSIDE = "out of the patch's reach: exactly 0"
# Conclusions for effects near or above 1, between 0 and 1, and near 0.
ANSWERS: dict[Direction, tuple[str, str, str]] = {
    "needed": (
        "A's choice turns into B's",
        "A's choice moves {:.0%} of the way to B's",
        "this value by itself is not needed",
    ),
    "enough": (
        "A's choice comes back",
        "A's choice comes back {:.0%} of the way",
        "this value by itself is not enough",
    ),
}
REVERSED_EFFECT = "the choice moves the other way"


def show_outcome(pair: PatchingPair, patch: ChosenPatch) -> None:
    """Show the patched run between the two original runs, the effect in both directions, and what the patch reaches."""
    if not patch.patches:
        st.warning(
            "This token has no partner in the other sentence, so nothing can be patched. Choose a partner under “Its "
            "value in B”, or choose another token. Rows of encoder attention and cross-attention can be patched only "
            "between sentences with the same number of tokens.",
            icon=":material/link_off:",
        )
        return
    direction, kept_patches = session.params(PatchParams).direction, _applicable_patches(pair)
    alone, patch = patch, _combined(patch, kept_patches)
    question, patches, other = _in_direction(pair, patch, direction)
    interventions = patch_interventions(dict(patches), other)
    directed = {each: _in_direction(pair, patch, each)[:2] for each in DIRECTIONS}
    experiment = embed_experiment(
        pair.reading.runs,
        **{each: PatchRun(*patch_run) for each, patch_run in directed.items()},
        written=_continuation(question, interventions),
    )
    plain = [_continued(pair, each, AS_TRAINED) for each in (question, question.reversed)]
    patched = _continued(pair, question, interventions)
    names = {"run": "B" if direction == "enough" else "A", "other": "A" if direction == "enough" else "B"}
    columns = {
        "run": f"{names['run']}, as trained",
        "patched": f"{names['run']}, patched",
        "other": f"{names['other']}, as trained",
    }
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"#### Run of {names['run']}, with {patch.label} taken from {names['other']}")
        _keep_buttons(alone.patches, kept_patches)
    texts = dict(zip(columns, (plain[0], patched, plain[1]), strict=True))
    base = plain[0].written.text
    for place, (name, text) in zip(st.columns(3, gap="medium"), texts.items(), strict=True):
        place.markdown(f"{columns[name]}\n\n**{marked_words(base, text.written.text)[1] or EMPTY_TRANSLATION}**")
    words, effects = st.columns([5, 4], gap="large")
    table = next_words({name: text.after for name, text in texts.items()}, question.step, pair.reading.tokenizer)
    with words:
        # Without this heading, the toolbar above the chart would cover a translation.
        st.markdown("**Probability of the next token**")
        show_altair(
            next_chart(table, columns),
            "patch_next",
            alt="Probability of the most likely next tokens in both original runs and in the patched run; the table "
            "has the numbers.",
        )
    with effects:
        for each in DIRECTIONS:
            st.markdown(describe_effect(pair, patch, each))
        st.caption(
            "These numbers hold only for this pair of sentences, this step and these two tokens. If several values do "
            "the same job, each of them can be enough while none of them is needed.",
            help=explain("logit"),
        )
    _show_cone(pair, plain[0].after, patched.after)
    show_numbers(table, "patch_next_numbers", digits=4)
    facts = facts_of(pair, patches, question, patched)
    lines = patch_lines(question, interventions, folder=pair.reading.translator.folder)
    show_lines(lines, "patch")
    with save_tables("patch", "patch", {**facts, "python": lines}, {"next": table}):
        experiment_buttons(pair.reading.runs, experiment, "patch")


def _applicable_patches(pair: PatchingPair) -> Patches:
    """Return the kept patches that can be applied in both directions.

    A URL may contain patches that cannot; these are left out.
    """
    applicable = []
    for patch in session.params(PatchParams).kept.patches:
        with suppress(InterventionError):
            for single, trace, other in (((patch,), pair.a, pair.b), (reversed_patches((patch,)), pair.b, pair.a)):
                patch_interventions(dict(single), other).check(pair.reading.config, len(trace.source_tokens))
            applicable.append(patch)
    return tuple(applicable)


def _combined(patch: ChosenPatch, kept: Patches) -> ChosenPatch:
    """Return the chosen and kept patches together, without kept patches that replace the same values as chosen ones."""
    others = tuple(each for each in kept if each[0] not in dict(patch.patches))
    if not others:
        return patch
    return ChosenPatch(patch.patches + others, f"{patch.label}, and {len(others)} kept value{'s' * (len(others) > 1)}")


def _keep_buttons(patches: Patches, kept: Patches) -> None:
    """Show a button that keeps the chosen patches while the user tries others, and one that drops all kept patches."""

    def keep(patches: Patches) -> None:
        session.update(PatchParams, kept=KeptPatches(patches[:MAX_KEPT]))

    more = tuple(dict({**dict(kept), **dict(patches)}).items())
    st.button(
        "Keep this patch",
        icon=":material/keep:",
        disabled=more == kept,
        on_click=keep,
        args=(more,),
        help="The patch stays applied while you choose another one, so you can combine several patches.",
    )
    if kept:
        st.button("Drop kept patches", icon=":material/close:", on_click=keep, args=((),))


def _in_direction(
    pair: PatchingPair, patch: ChosenPatch, direction: Direction
) -> tuple[PatchingQuestion, Patches, Trace]:
    """Return the question, the patches and the trace to copy values from, for noising or denoising."""
    if direction == "needed":
        return pair.question, patch.patches, pair.b
    return pair.question.reversed, reversed_patches(patch.patches), pair.a


def _continued(pair: PatchingPair, question: PatchingQuestion, interventions: Interventions) -> Continuation:
    return pair.reading.runs.get(_continuation(question, interventions))


def _continuation(question: PatchingQuestion, interventions: Interventions) -> ContinuationRun:
    return ContinuationRun(RereadRun(question.runs[0], interventions), question.step)


def describe_effect(pair: PatchingPair, patch: ChosenPatch, direction: Direction) -> str:
    """Return Markdown that describes how far a patch shifts the preference between the two tokens.

    Args:
        pair: the two sentences and the question about them.
        patch: the patch.
        direction: "needed" for noising, "enough" for denoising.
    """
    question, patches, _ = _in_direction(pair, patch, direction)
    contrasts = pair.reading.runs.get(PatchRun(question, patches))
    run, patched, other = (
        typeset(float(value), "+.2f") for value in (contrasts.run, contrasts.patched[0], contrasts.other)
    )
    description = f"**Is the value {ASKS[direction]}**  \n{run} → {patched} nats (the other run: {other}). "
    if contrasts.effects is None:
        return description + "The two runs hardly differ, so no relative effect is shown."
    effect = float(contrasts.effects[0])
    fully, partly, hardly = (each.format(effect) for each in ANSWERS[direction])
    answer = fully if effect > 0.95 else partly if effect > 0.05 else hardly if effect > -0.05 else REVERSED_EFFECT
    return f"{description}Effect **{typeset(effect)}**: {answer}."


def _show_cone(pair: PatchingPair, before: Trace, after: Trace) -> None:
    """Show how far the patch moves each vector of the residual stream; vectors that it cannot reach are grey."""
    reached = influence_cone(
        after.interventions, pair.reading.config, len(before.source_tokens), len(before.target_tokens)
    )
    changes = stream_changes(before, after)
    st.markdown("**What the patch reaches:** how far each vector of the residual stream moves, relative to its length")
    for place, stack, tokens, text in zip(
        st.columns(2, gap="medium"),
        ("encoder", "decoder"),
        (before.source_tokens, before.target_tokens),
        (before.source_text, before.target_text),
        strict=True,
    ):
        with place:
            show_altair(
                matrix(
                    changes[stack],
                    [str(depth) for depth in range(len(changes[stack]))],
                    [token_label(token, text) for token in tokens],
                    name="change",
                    mask=reached[stack],
                    masked=OUTSIDE,
                    scale=sequential(max(float(each.max()) for each in changes.values()) or 1.0),
                    titles=("depth", stack),
                ),
                key=f"patch_cone_{stack}",
                alt=f"Change in each cell of the {stack}'s residual stream; the patch cannot reach grey cells.",
            )
    st.caption(
        "Depth 0 is the embedding. Grey cells are out of reach: no path leads to them from the patch, so they "
        "are bit-for-bit identical in both runs. A patch in the encoder reaches every token from the next depth on, "
        "and every layer of the decoder. A patch in the decoder reaches only its own position and later ones.",
        help=explain("residual stream"),
    )


def facts_of(pair: PatchingPair, patches: Patches, question: PatchingQuestion, patched: Continuation) -> dict[str, Any]:
    """Return the model, question, patches and results for the saved file; steps and positions are 1-based."""
    contrasts = pair.reading.runs.get(PatchRun(question, patches))
    return {
        "model": pair.reading.translator.version,
        "sentence": question.text,
        "other": question.other,
        "step": question.step + 1,
        "tokens": [pair.reading.tokenizer.texts[token] for token in question.tokens],
        "patches": [patch_name(place, other) for place, other in patches],
        "written": patched.written.text,
        "logit_difference": contrasts.run,
        "logit_difference_other": contrasts.other,
        "logit_difference_patched": float(contrasts.patched[0]),
    }
