"""Formats measurements over many sentences as text for the terminal."""

import numpy as np

from transformer.ablation.estimate import Estimate
from transformer.analysis.heads.gallery import Gallery
from transformer.analysis.heads.names import head_names
from transformer.analysis.heads.statistics import Statistics
from transformer.analysis.heads.tasks import TASK
from transformer.measurements.agreement import AgreementStatistics
from transformer.measurements.importance import ImportanceStatistics
from transformer.measurements.matching import HeadMatches
from transformer.measurements.paths import PathStatistics
from transformer.text.languages import Languages


def describe_heads(statistics: Statistics) -> str:
    """List the heads that have a name, such as "previous token", and the heads that align words."""
    lines = [f"{statistics.sentences} sentences"]
    for kind, metrics in statistics.heads.items():
        for layer, heads in enumerate(head_names(metrics), start=1):
            for head, names in enumerate(heads, start=1):
                lines += [f"{kind} layer {layer} head {head}: {', '.join(names)}"] if names else []
    if aligner := statistics.aligner:
        lines.append(
            f"words are aligned with {aligner}: for {100 * aligner.agreement:.0f} % of "
            f"{aligner.tokens} tokens, the first head listed gives the same link as the mean of all cross-attention "
            "heads"
        )
    return "\n".join(lines)


def describe_gallery(gallery: Gallery, languages: Languages) -> str:
    """Return text: a gallery's number of sentences in the first line, and one exhibit in each further line."""
    return "\n".join(
        [
            f"{gallery.sentences} sentences",
            *(
                f"{TASK[exhibit.task].title_and_meaning(languages)[0]}: {exhibit.kind} layer {exhibit.layer + 1} head "
                f"{exhibit.head + 1} gives {exhibit.share:.0%} of its attention to the expected tokens, in "
                f"{exhibit.rows} rows of {exhibit.sentences} sentences (mean of all heads: "
                f"{exhibit.everyone:.0%}; general rules predict {exhibit.explained:.0%})"
                f"{'' if exhibit.passes else '; too little to be shown in the gallery'}"
                for exhibit in gallery.exhibits
            ),
        ]
    )


def describe_importance(statistics: ImportanceStatistics) -> str:
    """List the five heads whose removal lowers the translations' probability most."""
    changes = [
        (float(change), f"{kind} layer {layer} head {head}")
        for kind, estimate in statistics.measured.items()
        for layer, heads in enumerate(estimate.mean, start=1)
        for head, change in enumerate(heads, start=1)
    ]
    return "\n".join(
        [
            f"{statistics.sentences} sentences, mode {statistics.mode}",
            *(f"{name}: {change:+.3f} nats per sentence" for change, name in sorted(changes)[:5]),
            f"rank correlation with the gradient-based estimate: {_interval(statistics.agreement)}",
        ]
    )


def describe_matches(matches: HeadMatches) -> str:
    """List, for each attention kind, the mean similarity of matched heads, two baselines, and the best match."""
    lines = [f"{matches.sentences} sentences"]
    for kind, each in matches.kinds.items():
        lines += [
            f"{kind}: {name} {_interval(estimate)}"
            for name, estimate in (
                ("similarity of matched heads", each.mean),
                ("shuffled within layers", each.mean_shuffled),
                ("with random weights", each.mean_random),
            )
        ]
        best = int(np.nanargmax(each.matched.mean))
        (layer, head), (other_layer, other_head) = divmod(best, each.heads[0]), divmod(each.match[best], each.heads[1])
        lines.append(
            f"{kind}: the most similar heads are layer {layer + 1}, head {head + 1} and, in the other model, layer "
            f"{other_layer + 1}, head {other_head + 1} (similarity {each.matched.mean[best]:.3f})"
        )
    return "\n".join(lines)


def describe_agreement(statistics: AgreementStatistics) -> str:
    """List Kendall's tau between erasure and each of the other attribution methods."""
    tau, erasure = statistics.tau, statistics.methods.index("erasure")
    return "\n".join(
        [
            f"{statistics.sentences} sentences of {statistics.words:.1f} words on average. Kendall's tau with erasure:",
            *(
                f"{method}: {tau.mean[row, erasure]:.3f} ({tau.low[row, erasure]:.3f} to {tau.high[row, erasure]:.3f})"
                for row, method in enumerate(statistics.methods)
                if row != erasure
            ),
        ]
    )


def describe_paths(statistics: PathStatistics) -> str:
    """Describe how well the predicted effects of cutting paths agree with the measured effects."""
    return "\n".join(
        [
            f"{statistics.sentences} sentences, {statistics.paths:.0f} paths per sentence on average. Agreement "
            "between predicted and measured effects of cutting these paths:",
            *(f"{name}: {_interval(getattr(statistics, name))}" for name in ("difference", "logit", "sign")),
        ]
    )


def _interval(estimate: Estimate) -> str:
    return f"{estimate.mean:.3f} ({estimate.low:.3f} to {estimate.high:.3f})"
