"""Compares the word rankings of the attribution methods, and tests a ranking by deleting words in the ranked order."""

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from pages.ui.charts.palette import FIRST, SECOND
from pages.ui.charts.series import against_random
from pages.ui.charts.tables import show_table
from pages.ui.components.experiment import embed_experiment
from pages.ui.components.save_as import show_altair
from pages.ui.layout.roles import main_figure
from pages.ui.params.what_mattered import MatteredParams
from pages.ui.reading.sentence import Reading
from pages.ui.state import session
from pages.ui.state.bind import bind
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from pages.ui.text.number_format import typeset
from pages.ui.what_mattered.export import save_buttons
from pages.ui.what_mattered.methods import has_scores, title
from pages.ui.what_mattered.picker import pick_question
from pages.ui.what_mattered.question import AttributionQuestion, is_long, label_markdown
from pages.ui.what_mattered.recorded_agreement import show_recorded_agreement
from pages.ui.what_mattered.square import pair_columns, square_chart
from pages.ui.what_mattered.strip import describe_first_words
from pages.ui.what_mattered.words import attributions, show_slow_choice
from transformer.attribution.agreement import Agreement, agreement
from transformer.attribution.attribution import Attribution, Method
from transformer.attribution.deletion import DeletionCurves, area
from transformer.running.runs.attribution import AttributionRun, DeletionRun

BEST, WORST, RANDOM = "most important first", "least important first", "random orders"


def show_agreement(reading: Reading) -> None:
    """Show how far the attribution methods agree and, on request, deletion curves."""
    question = pick_question(reading)
    show_slow_choice(reading)
    experiment, answers = attributions(reading, question)
    scored = [answer for answer in answers if has_scores(answer)]
    if len(question.ranked) < 2 or len(scored) < 2:
        st.info(f"To compare rankings, at least two {question.size}s and two methods are needed.")
        return
    agreed = agreement(scored, question.ranked)
    table = pair_table(agreed)
    square, words = st.columns([6, 5], gap="large")
    with (
        square,
        main_figure(
            f"Do the methods agree on {question.explained}? {markdown(reading.trace.source_text)}",
            "1: both methods rank the words alike; −1: in reverse order; grey: could be due to chance",
        ),
    ):
        show_altair(
            square_chart(
                agreed.methods,
                table,
                [
                    alt.Tooltip("n:Q"),
                    alt.Tooltip("chance:Q", format=".2f", title="chance, ±"),
                    alt.Tooltip("same first:N"),
                ],
            ),
            key="mattered_square",
            alt="Kendall's tau for every pair of methods; the CSV file below has the numbers.",
        )
    with words:
        st.markdown(describe_first_words(question, scored), help=explain("log-probability", "nats"))
        st.markdown(describe_conclusions(question, agreed, scored))
        st.caption(
            f"Each cell is Kendall's tau between two rankings of the {len(agreed.columns)} {question.source_size}s: 1 "
            "means the same order, −1 the reverse order, and 0 unrelated orders. With so few "
            f"{question.size}s, the tau of two unrelated rankings is within ±{agreed.chance:.2f} in 95% of cases. "
            "Cells within that range are grey, because they could be due to chance. The end symbol is not ranked. "
            "These results are for one sentence and need not hold for other sentences.",
            help=explain("Kendall's tau"),
        )
    save_buttons(reading, experiment, question, table, "agreement")
    _show_deletion(reading, question, scored)
    show_recorded_agreement(reading.translator)


def pair_table(agreed: Agreement) -> pd.DataFrame:
    """Return a table with one row per pair of methods.

    The columns include Kendall's tau, the number of ranked words, and the largest tau that chance can explain. Another
    column states whether the two methods rank the same word first.
    """
    return pd.DataFrame(
        {
            **pair_columns(agreed.methods),
            "tau": agreed.tau.ravel(),
            "n": len(agreed.columns),
            "chance": agreed.chance,
            "beyond chance": agreed.above_chance.ravel(),
            "same first": agreed.same_first.ravel(),
        }
    )


def describe_conclusions(question: AttributionQuestion, agreed: Agreement, scored: Sequence[Attribution]) -> str:
    """Return Markdown that states which conclusions the methods' agreement allows, and which it does not."""
    upper = np.triu_indices(len(agreed.methods), k=1)
    beyond, taus = agreed.above_chance[upper], agreed.tau[upper]
    alike, opposed = int((beyond & (taus > 0)).sum()), int((beyond & (taus < 0)).sum())
    size, number = question.size, len(agreed.columns)
    parts = [
        f"Of {len(taus)} pairs of methods, **{alike}** agree on the ranking of the {number} {size}s more than "
        "expected by chance"
        + (f", and {opposed} disagree more than expected by chance" if opposed else "")
        + f"; the agreement of the other {len(taus) - alike - opposed} could be due to chance."
    ]
    erasure = next((each for each in scored if each.method == "erasure"), None)
    if erasure is not None:
        scores = erasure.source[0]
        best = max(agreed.columns, key=lambda column: scores[column])
        if scores[best] > 0:
            same = sum(
                max(agreed.columns, key=lambda column, each=each: each.source[0][column]) == best
                for each in scored
                if each is not erasure
            )
            measure = "the difference between the log-probabilities" if question.other else "the log-probability"
            parts.append(
                f"**What you may conclude:** without **{label_markdown(question.source_labels[best])}**, {measure} of "
                f"{question.explained} is {scores[best]:.2f} nats lower, a larger drop than without any other {size}. "
                f"This effect is measured. {same} of the {len(scored) - 1} other methods also rank this {size} first."
            )
        else:
            parts.append(f"**What you may conclude:** {question.explained} does not depend on any {size} alone.")
    parts.append(
        "**What you may not conclude:** that a bright cell in an attention map caused the model's choice, or that a "
        "method is right because another agrees with it. The methods answer different questions. Erasure, too, answers "
        "only one of them, so it does not settle which method is right."
    )
    return "\n\n".join(parts)


def _show_deletion(reading: Reading, question: AttributionQuestion, scored: Sequence[Attribution]) -> None:
    st.subheader("Delete words in the order of a method's ranking", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        methods: list[Method] = [each.method for each in scored]
        params = session.params(MatteredParams)
        chosen: Method = params.method if params.method in methods else methods[-1]
        st.selectbox(
            "Delete in the order of",
            methods,
            format_func=title,
            width=260,
            **bind(MatteredParams, "method", value=chosen),
        )
        st.toggle(
            "Delete them",
            help=f"Hides one {question.source_size} after another and runs the model each time: "
            f"{(len(question.ranked) + 1) * 10} runs per method.",
            **bind(MatteredParams, "deletion"),
        )
    if not params.deletion:
        st.caption(
            f"A method is faithful if the prediction collapses quickly without the {question.size}s that it ranks "
            "first. To measure this, turn on “Delete them”."
        )
        return
    listed: list[Method] = [chosen] if is_long(reading.trace) else methods
    runs = {
        method: DeletionRun(AttributionRun(reading.run, method, (question.target,), question.words), question.ranked)
        for method in listed
    }
    experiment = embed_experiment(reading.runs, **runs)
    curves: dict[Method, DeletionCurves] = {method: reading.runs.get(run) for method, run in runs.items()}
    picture, numbers = st.columns([6, 5], gap="large")
    with picture:
        show_altair(
            deletion_chart(curves[chosen], question),
            key="mattered_curves",
            alt=f"The score after each deletion, in the order of {title(chosen)}; the table beside it lists the areas "
            "under the curves.",
        )
    with numbers:
        table = area_table(curves)
        st.markdown(describe_faithfulness(chosen, curves[chosen]))
        show_table(table, "mattered_areas", digits=2)
        st.caption(
            "An area is the mean height of a curve, in nats. “Below random” says how far, on average, the method's "
            "curve is below 8 random curves. “Least” and “most” are the smallest and the largest of these 8 distances."
            + ("" if len(curves) > 1 else " Because the sentence is long, only the chosen method is measured."),
            help=explain("log-probability", "nats"),
        )
    save_buttons(reading, experiment, question, curve_table(curves), "deletion", areas=table)


def curve_table(curves: dict[Method, DeletionCurves]) -> pd.DataFrame:
    """Return all deletion curves as a table with one row per point."""
    rows = []
    for method, each in curves.items():
        for order, curve in _orders(each):
            rows += [
                {"method": title(method), "unit": "nats", "order": order, "deleted": gone, "score": float(score)}
                for gone, score in enumerate(curve)
            ]
    return pd.DataFrame(rows)


def _orders(curves: DeletionCurves) -> list[tuple[str, np.ndarray]]:
    random = [(f"{RANDOM} {draw}", curve) for draw, curve in enumerate(curves.random, 1)]
    return [(BEST, curves.best_first), (WORST, curves.worst_first), *random]


def area_table(curves: dict[Method, DeletionCurves]) -> pd.DataFrame:
    """Return a table with one row per method, in nats: the mean heights of `best_first` and `worst_first`. Further
    columns show how far that of `best_first` is below those of the random curves: on average, at least and at most.
    """
    return pd.DataFrame(
        [
            {
                "method": title(method),
                BEST: area(each.best_first),
                WORST: area(each.worst_first),
                "below random": float(each.below_random.mean()),
                "least": float(each.below_random.min()),
                "most": float(each.below_random.max()),
            }
            for method, each in curves.items()
        ]
    )


def deletion_chart(curves: DeletionCurves, question: AttributionQuestion) -> alt.LayerChart:
    """Return a chart of one method's two deletion curves, with a band for the curves of random orders."""
    steps = range(len(curves.best_first))
    return against_random(
        pd.concat([pd.DataFrame({"deleted": steps, "value": each, "order": name}) for name, each in _orders(curves)]),
        "deleted",
        {BEST: SECOND, WORST: FIRST},
        title=f"{question.source_size}s deleted",
        unit="difference between log-probabilities, nats" if question.other else "log-probability, nats",
        point=True,
    )


def describe_faithfulness(method: Method, curves: DeletionCurves) -> str:
    """Return Markdown that states whether a method's deletion order lowers the score more than random orders do."""
    below = curves.below_random
    others = f"the curves of {len(below)} random orders"
    if below.min() > 0:
        verdict = f"has a lower mean than all {others}, by {below.mean():.2f} nats on average"
    elif below.max() < 0:
        verdict = f"has a higher mean than all {others}: the method picks the wrong words here"
    else:
        verdict = f"does not differ clearly from {others}"
    return (
        f"The curve for the ranking of **{title(method)}** {verdict}. It starts at {typeset(curves.best_first[0])}, "
        f"and is at {typeset(curves.best_first[1])} after the first deletion and at {typeset(curves.best_first[-1])} "
        "after the last."
    )
