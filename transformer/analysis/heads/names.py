"""Names heads that mostly do one thing, using published thresholds where they exist.

The first token and the end symbol are attention sinks: heads attend to them when they have nothing to do. Every rule
except "end symbol" ignores attention to sinks, so a head that mostly attends to a sink gets none of the other names.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from transformer.analysis.heads.metrics import HeadMetrics
from transformer.values.trace import Kind

# Tolerance for rounding errors in means over many sentences, so that 9 of 10 queries count as 90%.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Rule:
    """A condition under which a head gets a name.

    Attributes:
        name: name that the head gets.
        threshold: the condition and its source, in plain English.
        kinds: attention kinds to which the rule applies.
        holds: function from `HeadMetrics.values` to a mask of the heads that meet the condition, bool [L, H].
    """

    name: str
    threshold: str
    kinds: tuple[Kind, ...]
    holds: Callable[[Mapping[str, np.ndarray]], np.ndarray]


def _position_rule(name: str, metric: str, kinds: tuple[Kind, ...]) -> Rule:
    return Rule(
        name,
        f"At least 90% of the head's queries look most at the {name}, and the head's confidence is above 80% "
        "(Voita et al. 2019, section 5.1).",
        kinds,
        lambda values: (values[f"strongest_{metric}"] >= 0.9 - ROUNDING) & (values["confidence"] > 0.8 + ROUNDING),
    )


def _neighbour_rule(name: str, metric: str, kinds: tuple[Kind, ...]) -> Rule:
    return Rule(
        name,
        f"More than half of the head's attention is on the {name} (Clark et al. 2019, section 3.1), and more than half "
        f"of its queries look most at the {name}.",
        kinds,
        # The second condition keeps out sinks: in a short sentence, the neighbour is often the first token
        # or the end symbol.
        lambda values: _most(values[metric]) & _most(values[f"strongest_{metric}"]),
    )


def _most(shares: np.ndarray) -> np.ndarray:
    return shares > 0.5 + ROUNDING


RULES = (
    _position_rule("previous token", "previous", ("encoder", "decoder")),
    _neighbour_rule("previous token", "previous", ("encoder", "decoder")),
    _position_rule("next token", "next", ("encoder",)),
    _neighbour_rule("next token", "next", ("encoder",)),
    _position_rule("same token", "same", ("encoder", "decoder")),
    Rule(
        "end symbol",
        "More than half of the head's attention is on the end symbol (Clark et al. 2019, section 3.2).",
        ("encoder", "cross"),
        lambda values: _most(values["end"]),
    ),
    Rule(
        "punctuation",
        "More than half of the head's attention is on punctuation (Clark et al. 2019, section 3.2).",
        ("encoder", "decoder", "cross"),
        lambda values: _most(values["punctuation"]),
    ),
    Rule(
        "rare word",
        "More than half of the head's queries look most at the rarest token (Voita et al. 2019, section 5.3).",
        ("encoder",),
        lambda values: _most(values["strongest_rarest"]),
    ),
    # There is no published threshold for alignment. Voita et al. (section 5.2) require a syntactic head to beat the
    # best fixed offset by 10 percentage points. In short English and German sentences, the best fixed offset finds
    # about 40% of the alignment links, so the threshold here is 50%.
    Rule(
        "alignment",
        "For more than half of the target tokens (this app's own threshold), the head looks most at the source token "
        "that gets the most attention from all heads together. This must hold at the steps that predict the target "
        "tokens, or at the steps that read them.",
        ("cross",),
        lambda values: _most(values["alignment_predicted"]) | _most(values["alignment_read"]),
    ),
)


def head_rules(metrics: HeadMetrics) -> tuple[tuple[tuple[Rule, ...], ...], ...]:
    """Return the rules that each head meets, indexed by layer and head; most heads meet none.

    A metric that is NaN or missing counts as below every threshold.
    """
    layers, heads = next(iter(metrics.values.values())).shape
    values = defaultdict(lambda: np.full((layers, heads), np.nan), metrics.values)
    passed = [(rule, rule.holds(values)) for rule in RULES if metrics.kind in rule.kinds]
    return tuple(
        tuple(tuple(rule for rule, passes in passed if passes[layer, head]) for head in range(heads))
        for layer in range(layers)
    )


# Cached, because a page needs the names of the same heads about a dozen times.
@lru_cache(maxsize=128)
def head_names(metrics: HeadMetrics) -> tuple[tuple[tuple[str, ...], ...], ...]:
    """Return each head's names, without duplicates, indexed by layer and head; most heads have none."""
    return tuple(
        tuple(tuple(dict.fromkeys(rule.name for rule in rules)) for rules in layer) for layer in head_rules(metrics)
    )
