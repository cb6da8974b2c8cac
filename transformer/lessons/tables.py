"""Computes the data of every lesson figure except maps. Pages show these figures as tables, bars or tiles."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, nan, sqrt

import numpy as np

from transformer.ablation.patching import PatchRun
from transformer.analysis.replay.contributions import contributions
from transformer.analysis.view import axes_of
from transformer.backpropagation.softmax import softmax
from transformer.errors import LessonError
from transformer.lessons.claims.ablation import KIND_NAMES, removed_translations
from transformer.lessons.claims.attribution import compare_for_sentence, compare_words
from transformer.lessons.claims.computation import context_stages, first_numbers, longest_elsewhere
from transformer.lessons.claims.decoding import beam_and_greedy, samples
from transformer.lessons.claims.learning import MAX_LOSS, recorded_losses, recorded_scores
from transformer.lessons.claims.patching import (
    changed_position,
    effects_by_place,
    minimal_pair,
    most_attending_head,
    strongest_head,
    token_names,
)
from transformer.lessons.claims.paths import cut_paths, path_ranks
from transformer.lessons.claims.registry import Value
from transformer.lessons.claims.runs import NO_MASK, NO_POSITIONS, PARTS
from transformer.lessons.evidence import JOBS, LATER_TOKENS, Evidence
from transformer.running.runs.trace import TraceRun
from transformer.values.interventions import Interventions, all_heads
from transformer.values.tokens import Token
from transformer.values.trace import KINDS, Kind
from transformer.values.translation import Translation

WHOLE_TRANSLATION = "the whole translation"
# The first step at which chrF reaches this fraction of its best value is a milestone of the learning curve.
LEARNED_SHARE = 0.9


@dataclass(frozen=True)
class Table:
    """A table with labelled rows and columns.

    Attributes:
        head: title above the row labels.
        labels: label of each row: a text, or the tokens of a word.
        columns: one value per row, by column title.
        totals: quantities that describe the whole table, by name.
        text: text that the spans of the tokens in `labels` refer to.
        across: number of rows to show side by side, such as the number of heads in a layer; 0 to show one row per line.
        marked: label of the row to highlight; empty for none.
        percent: titles of the columns to show as percentages.
    """

    head: str
    labels: Sequence[str | tuple[Token, ...]]
    columns: Mapping[str, Sequence[Value]]
    totals: Mapping[str, Value] = field(default_factory=dict)
    text: str = ""
    across: int = 0
    marked: str = ""
    percent: tuple[str, ...] = ()


def head_label(kind: Kind, layer: int, head: int) -> str:
    """Return the name by which tables refer to a head; `layer` and `head` are 0-based."""
    return f"{KIND_NAMES[kind]}, layer {layer + 1}, head {head + 1}"


def removal_of(evidence: Evidence, part: str, kind: Kind, head: str | None) -> tuple[str, Interventions]:
    """Return a title, and the interventions that switch off one model part or one head."""
    if part:
        return f"without {'the mask' if part == 'mask' else part}", PARTS[part]
    assert head is not None, "a head is given if no part is given"
    layer, number = evidence.head(kind, head)
    return f"without head {layer + 1}.{number + 1}", Interventions(gates={(kind, layer, number): 0.0})


def _scores(evidence: Evidence, kind: Kind, head: str, row: str) -> Table:
    """Return a table of the dot product, scaled score and weight at each position in one row of a map."""
    layer, number, row_at = evidence.at_row(kind, head, row)
    trace = evidence.trace(details=True)
    query, keys = (trace.detail(kind, part)[layer, number].astype(np.float64) for part in ("queries", "keys"))
    products = keys @ query[row_at]
    scaled = products / sqrt(keys.shape[-1])
    axes = axes_of(trace, kind)
    return Table(
        "looked at",
        axes.columns,
        {
            "query · key": products.tolist(),
            "÷ √K": scaled.tolist(),
            "weight": softmax(scaled, trace.mask(kind)[row_at]).tolist(),
        },
        text=axes.column_text,
    )


def _example(evidence: Evidence, score: int, other: int, width: int) -> Table:
    """Return a table that compares the softmax of two scaled scores with each score's share of their sum."""
    scores = np.array([score, other], dtype=np.float64)
    total = scores.sum()
    return Table(
        "key",
        ("first", "second"),
        {
            "query · key": [score, other],
            "share of the sum": (scores / total if total else np.full(2, 0.5)).tolist(),
            "÷ √K": (scores / sqrt(width)).tolist(),
            "softmax weight": softmax(scores / sqrt(width)).tolist(),
        },
    )


def _values(evidence: Evidence, kind: Kind, head: str, row: str) -> Table:
    """Return a table with each position's weighted value vector; the last row is their sum."""
    layer, number, row_at = evidence.at_row(kind, head, row)
    trace = evidence.trace(details=True)
    weights = trace.attention(kind)[layer, number, row_at].astype(np.float64)
    brought = weights[:, None] * trace.detail(kind, "values")[layer, number].astype(np.float64)
    axes = axes_of(trace, kind)
    return Table(
        "weight × value of",
        (*axes.columns, "the sum"),
        {
            str(index + 1): [*brought[:, index].tolist(), float(brought[:, index].sum())]
            for index in range(brought.shape[1])
        },
        {"numbers in each row": brought.shape[1], "value vectors in the sum": len(brought)},
        axes.column_text,
    )


def _numbers(evidence: Evidence, word: str, other: str) -> Table:
    """Tabulate the first components of a word's encoder inputs in two sentences, and the inputs' cosine similarity."""
    (first, second), alike = first_numbers(evidence, word, other)
    return Table(
        "the word in",
        (evidence.sentence, other),
        {
            **{f"number {index + 1}": [float(first[index]), float(second[index])] for index in range(len(first))},
            "alike": [alike, alike],
        },
        percent=("alike",),
    )


def _vectors(evidence: Evidence, word: str, other: str, hide: str = "", hide_other: str = "") -> Table:
    """Return a table of the cosine similarity of a word's vectors in two sentences, per stage in `context_stages`."""
    stages = context_stages(evidence, word, other, hide, hide_other)
    return Table("when", tuple(stages), {"alike": list(stages.values())})


def _candidates(evidence: Evidence, step: int) -> Table:
    trace, row = evidence.trace(), evidence.step(step)
    tokens = evidence.runs.tokenizer.tokens([int(number) for number in trace.candidate_ids[row]])
    return Table(
        "next token",
        tuple((token,) for token in tokens),
        {"probability": np.exp(trace.candidate_log_probs[row].astype(np.float64)).tolist()},
    )


def _probabilities(evidence: Evidence, part: str = "", kind: Kind = "encoder", head: str | None = None) -> Table:
    """Return a table of the probabilities of each token and of the whole translation.

    If a model part or head is given, a second column shows the probabilities without it.
    """
    trace = evidence.trace()
    runs = {"probability": trace}
    if part or head is not None:
        name, interventions = removal_of(evidence, part, kind, head)
        changed = evidence.trace(interventions=interventions)
        if changed.predicted_tokens != trace.predicted_tokens:
            # The model may have split a word differently from the tokenizer. Tokenize the translation again, so that
            # both columns have the same tokens.
            trace = evidence.runs.get(TraceRun(evidence.sentence, trace.target_text))
        runs = {"as trained": trace, name: changed}
    columns = {}
    for name, run in runs.items():
        logs = run.log_probs.astype(np.float64)
        with np.errstate(under="ignore"):
            columns[name] = np.exp([*logs, logs.sum()]).tolist()
    totals: dict[str, Value] = {}
    if len(columns) > 1:
        before, after = (float(run.log_probs.sum(dtype=np.float64)) for run in runs.values())
        totals = {f"{WHOLE_TRANSLATION} is": "less likely" if after < before else "more likely"}
    return Table(
        "token written",
        (*((token,) for token in trace.predicted_tokens), WHOLE_TRANSLATION),
        columns,
        totals,
        trace.target_text,
    )


def _translations(evidence: Evidence, beam_size: int = 4, temperature: int | float = 0, count: int = 5) -> Table:
    """Return a table that compares greedy decoding with beam search or, if a temperature is given, with samples."""
    if not temperature:
        greedy, beam = beam_and_greedy(evidence, beam_size)
        totals = {"translation found by beam search": "the same" if beam.text == greedy.text else "a different one"}
        return _count_translations({"greedy": greedy, f"beam of {beam_size}": beam}, totals)
    translations = samples(evidence, temperature, count)
    often = Counter(translation.text for translation in translations)
    by_text = {text: next(translation for translation in translations if translation.text == text) for text in often}
    rows = {"greedy": beam_and_greedy(evidence, 1)[0]} | {
        f"sample {number}": translation for number, translation in enumerate(by_text.values(), 1)
    }
    return _count_translations(rows, {"samples": count, "different samples": len(by_text)}, often)


def _count_translations(
    rows: Mapping[str, Translation], totals: Mapping[str, Value], often: Counter[str] | None = None
) -> Table:
    columns: dict[str, Sequence[Value]] = {"translation": [one.text for one in rows.values()]}
    if often is not None:
        columns["drawn"] = [
            "" if name == "greedy" else f"{often[one.text]} of {often.total()}" for name, one in rows.items()
        ]
    columns["probability"] = [float(np.exp(one.log_prob)) for one in rows.values()]
    return Table("method", tuple(rows), columns, totals)


def _norms(evidence: Evidence, kind: Kind, head: str) -> Table:
    """Return a table of each position's mean attention weight and mean share of the head's output."""
    layer, number = evidence.head(kind, head)
    trace = evidence.trace(details=True)
    layer_terms = contributions(trace, evidence.runs.weights(), kind, layer)
    norms = layer_terms.head_norms()[number]
    axes = axes_of(trace, kind)
    return Table(
        "looked at",
        axes.columns,
        {
            "share of the attention": layer_terms.weights[number].mean(axis=0).tolist(),
            "share of the output": (norms / norms.sum(axis=-1, keepdims=True)).mean(axis=0).tolist(),
        },
        text=axes.column_text,
    )


def _learning(evidence: Evidence, until: int = 0) -> Table:
    """Return a table of milestones in the learning curve.

    Milestones: the first training loss, the first and last held-out losses, the first chrF that reaches 90% of the
    best, and the best chrF.
    """
    training, held_out = recorded_losses(evidence, until)
    scores = recorded_scores(evidence)
    best = max(score for _, score in scores)
    learned = next((one for one in scores if one[1] >= LEARNED_SHARE * best), scores[-1])
    rows = {
        "first training loss": (*training, nan),
        "first held-out loss": (*held_out[0], nan),
        "last held-out loss": (*held_out[-1], nan),
        "nine tenths of the best chrF": (learned[0], nan, learned[1]),
        "best chrF": (next(step for step, score in scores if score == best), nan, best),
    }
    last = max(scores[-1][0], 1)
    return Table(
        "what",
        tuple(rows),
        {
            "step": [step for step, _, _ in rows.values()],
            "of all steps": [step / last for step, _, _ in rows.values()],
            "loss": [loss for _, loss, _ in rows.values()],
            "perplexity": [exp(min(loss, MAX_LOSS)) for _, loss, _ in rows.values()],
            "chrF": [score for _, _, score in rows.values()],
        },
        percent=("of all steps",),
    )


def _worth(evidence: Evidence, kind: Kind = "encoder", head: str | None = None) -> Table:
    """Return a table of the effects of removing each head, with the most needed head first."""
    heads, changes = all_heads(evidence.runs.config), evidence.head_changes()
    order = [int(at) for at in changes.argsort(kind="stable")]
    above = int((changes > 0).sum())
    totals: dict[str, Value] = {"heads": len(heads), "likelier without": above, "share": above / len(heads)}
    marked = ""
    if head is not None:
        at = kind, *evidence.head(kind, head)
        marked = head_label(*at)
        totals["heads needed more than the marked head"] = int((changes < changes[heads.index(at)]).sum())
    return Table(
        "without",
        tuple(head_label(*heads[at]) for at in order),
        {
            "change in the log-probability, in nats": changes[order].tolist(),
            "times as likely": np.exp(changes[order].astype(np.float64)).tolist(),
        },
        totals,
        marked=marked,
    )


def _removed(evidence: Evidence, count: int) -> Table:
    return Table(
        "without",
        ("nothing (all heads)", f"the {count} heads needed least", f"the {count} heads needed most"),
        {"translation": removed_translations(evidence, count)},
        {"heads removed": count, "of all heads": count / len(all_heads(evidence.runs.config))},
    )


def _needed(evidence: Evidence) -> Table:
    """Return a table of translated words, each with the source words that it attends to most and needs most.

    The table also has the probabilities of the translated word when each of these two source words is hidden.
    """
    comparisons = compare_words(evidence)
    return Table(
        "word written",
        tuple(comparison.word for comparison in comparisons),
        {
            "probability": [comparison.probability for comparison in comparisons],
            "looks most at": [comparison.looked_at for comparison in comparisons],
            "without that": [comparison.without(comparison.cost) for comparison in comparisons],
            "needs most": [comparison.needed for comparison in comparisons],
            "without it": [comparison.without(comparison.needed_cost) for comparison in comparisons],
            "": ["same" if comparison.agree else "differ" for comparison in comparisons],
        },
        {
            "words that look most at what they need most": sum(comparison.agree for comparison in comparisons),
            "words": len(comparisons),
        },
        percent=("probability", "without that", "without it"),
    )


def _named(evidence: Evidence) -> Table:
    """Return a table of source words, with each word's share of the attention and the cost of hiding the word."""
    comparison = compare_for_sentence(evidence)
    return Table(
        "word hidden",
        tuple(comparison.words[at] for at in comparison.order),
        {
            "place": list(range(1, len(comparison.order) + 1)),
            "log-probability lost, nats": [float(comparison.costs[at]) for at in comparison.order],
            "share of the attention": [float(comparison.weights[at]) for at in comparison.order],
        },
        {"words": len(comparison.words)},
        marked=comparison.words[comparison.looked_at],
    )


def _orders(evidence: Evidence, other: str) -> Table:
    texts = evidence.sentence, other
    return Table(
        "read",
        texts,
        {
            "with positions": [evidence.runs.get(TraceRun(text)).target_text for text in texts],
            "without positions": [
                evidence.runs.get(TraceRun(text, interventions=NO_POSITIONS)).target_text for text in texts
            ],
        },
    )


def _heads(evidence: Evidence, of: str) -> Table:
    """Return a table of every head's score for a job (see `Evidence.shares`)."""
    kinds: list[Kind] = [kind for kind in KINDS if JOBS[of] in evidence.metrics(kind)]
    return _tiles({of: {kind: evidence.shares(kind, of) for kind in kinds}})


def _links(evidence: Evidence, row: str, column: str, than: str) -> Table:
    """Return a table of every encoder head's attention from one word to each of two other words.

    Raises:
        LessonError: the two other words are the same.
    """
    if column == than:
        raise LessonError(f"“{column}” cannot be compared with itself: give another word as `than`")
    view = evidence.view("encoder")
    row_at = evidence.row("encoder", row, (0, 0))
    to, third = (
        view.weights[:, :, row_at, evidence.column("encoder", word)].astype(np.float64) for word in (column, than)
    )
    return _tiles({column: {"encoder": to}, than: {"encoder": third}}, more=int((to > third).sum()))


def _future(evidence: Evidence) -> Table:
    """Return a table of the fraction of each decoder head's attention that goes to later tokens if the mask is off."""
    return _tiles({"to later tokens": {"decoder": evidence.shares("decoder", LATER_TOKENS, interventions=NO_MASK)}})


def _longest(evidence: Evidence, kind: Kind) -> Table:
    """Return a table: the fraction of each head's rows whose longest vector is not from the most-attended position."""
    return _tiles({"largest weight ≠ longest vector": {kind: longest_elsewhere(evidence, kind)}})


def _path_sums(evidence: Evidence, step: int) -> Table:
    """Return a table that splits a token's lead over the runner-up, in logits, into all paths and the biases."""
    cut = cut_paths(evidence, step)
    return Table(
        "part", ("all paths", "biases", "together"), {"logits": [cut.paths, cut.biases, cut.paths + cut.biases]}
    )


def _cut_paths(evidence: Evidence, step: int) -> Table:
    """Return a table of the largest direct paths to a token, with predicted and measured effects of cutting them."""
    cut = cut_paths(evidence, step)
    return Table(
        "path from",
        cut.names,
        {"predicted": cut.predicted.tolist(), "measured": cut.measured.tolist()},
        {"paths": len(cut.names)},
    )


def _path_ranks(evidence: Evidence, step: int) -> Table:
    """Return rank correlations of predicted with measured path effects on a logit difference and on a single logit."""
    token, other, against, alone = path_ranks(evidence, step)
    return Table(
        "explained", (f"“{token}” and not “{other}”", f"“{token}” alone"), {"rank correlation": [against, alone]}
    )


def _tiles(columns: Mapping[str, Mapping[Kind, np.ndarray]], more: int | None = None) -> Table:
    """Arrange the columns' values, [L, H] for each attention kind, as a table with one row per head."""
    first = next(iter(columns.values()))
    labels = [
        head_label(kind, layer, head) for kind, values in first.items() for layer, head in np.ndindex(values.shape)
    ]
    shares = {
        name: np.concatenate([values.ravel() for values in each.values()]).astype(np.float64).tolist()
        for name, each in columns.items()
    }
    totals: dict[str, Value] = {"heads": len(labels)}
    if more is None:
        totals["mean"] = float(np.mean(next(iter(shares.values()))))
    else:
        one, other = shares
        totals[f"coloured heads, which look more at “{one}” than at “{other}”"] = more
    return Table("head", tuple(labels), shares, totals, across=next(iter(first.values())).shape[1])


def _patched(evidence: Evidence, other: str) -> Table:
    """Return a table of the effects of patching model parts in both directions: from another sentence and to it."""
    at = minimal_pair(evidence, other)
    effects = effects_by_place(evidence, at)
    (layer, head), (_, _, weight) = strongest_head(evidence, at), most_attending_head(at, changed_position(at))
    return Table(
        "taken from the other sentence",
        tuple(effects),
        {"needed": [needed for needed, _ in effects.values()], "enough": [enough for _, enough in effects.values()]},
        {
            "layer of the head with the largest effect": layer + 1,
            "number of the head with the largest effect": head + 1,
            "largest weight on the changed word": weight,
        },
    )


def _preferred(evidence: Evidence, other: str, step: int) -> Table:
    """Return a table of how strongly the model prefers one next token to another, for each of two sentences."""
    at = minimal_pair(evidence, other, step)
    contrasts = evidence.runs.get(PatchRun(at.question, ()))
    word, instead = token_names(evidence, at)
    return Table(
        "sentence",
        (evidence.sentence, other),
        {f"logit of {word} minus that of {instead}": [contrasts.run, contrasts.other]},
        {"difference": abs(contrasts.other - contrasts.run)},
    )


# The function that computes each figure, by figure name. Maps are not included.
TABLES: Mapping[str, Callable[..., Table]] = {
    "scores": _scores,
    "example": _example,
    "values": _values,
    "numbers": _numbers,
    "vectors": _vectors,
    "candidates": _candidates,
    "probabilities": _probabilities,
    "translations": _translations,
    "norms": _norms,
    "learning": _learning,
    "worth": _worth,
    "removed": _removed,
    "needed": _needed,
    "named": _named,
    "orders": _orders,
    "heads": _heads,
    "links": _links,
    "future": _future,
    "longest": _longest,
    "patched": _patched,
    "preferred": _preferred,
    "path_sums": _path_sums,
    "cut_paths": _cut_paths,
    "path_ranks": _path_ranks,
}
