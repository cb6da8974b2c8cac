"""The predicted token that the page explains, and names for the model components that contribute to the token."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from attention_atlas.browser.labels import disambiguate
from attention_atlas.browser.token_labels import entry_label, label_without_space, token_label
from pages.ui.heads.head_reading import TracedReading
from pages.ui.params.how_it_came_about import NOTHING, UNCHOSEN, GraphParams
from pages.ui.state import session
from pages.ui.state.bind import key_for, preset, when_chosen
from pages.ui.text.markup import markdown
from transformer.attribution.attribution import Target
from transformer.attribution.graph import Node
from transformer.attribution.score_pairs import BIASES, Writer
from transformer.values.tokens import Token
from transformer.values.trace import Stack, Trace

# Session-state key of the token that the user chose. If the next translation contains the token, it stays chosen.
LAST_TOKEN = "_graph_last_token"


@dataclass(frozen=True)
class PathQuestion:
    """A predicted token to explain, alone or in contrast to another token.

    Attributes:
        target: the target of the attribution graph.
        token: the label of the predicted token.
        other: the label of the token to compare with; empty for none.
        source, prefix: labels of the tokens that the encoder and the decoder read; identical labels are numbered.
    """

    target: Target
    token: str
    other: str
    source: tuple[str, ...]
    prefix: tuple[str, ...]

    @property
    def explained(self) -> str:
        """The predicted token and, if there is one, the token that it is compared with, each in quotation marks."""
        return f"“{self.token}”" + (f" and not “{self.other}”" if self.other else "")

    def label(self, stack: Stack, position: int) -> str:
        """Return the label of an input token of a stack, given the token's 0-based position."""
        return (self.source if stack == "encoder" else self.prefix)[position]

    def name(self, node: Node) -> str:
        """Return the name of a graph node, with 1-based layer and head."""
        if node.kind == "target":
            return self.explained
        if node.kind == "bias":
            return f"biases of the {node.stack}"
        token = f"“{self.label(node.stack, node.position)}”"
        if node.place is None:
            return token
        before = f"{node.stack} " if node.kind == "feed-forward" else ""
        return f"{before}{part_name((node.place, node.head or 0))}, at {token}"


def part_name(part: Writer | None) -> str:
    """Return the name of a model component; `None` stands for the sum of all components that are not listed."""
    if part is None:
        return "all others"
    place, number = part
    if place is None:
        return "biases" if part == BIASES else ("embedding", "position")[number]
    if place.kind is None:
        return f"feed-forward {place.layer + 1}"
    return f"{'masked' if place.kind == 'decoder' else place.kind} {place.layer + 1}.{number + 1}"


def labels_of(tokens: Sequence[Token], text: str) -> tuple[str, ...]:
    """Return token labels without space markers (▁); identical labels are numbered."""
    return tuple(disambiguate(label_without_space(token_label(token, text)) for token in tokens))


def pick_question(reading: TracedReading) -> PathQuestion:
    """Show a button for each predicted token, and a select box for the token to compare the chosen one with. Return
    the chosen question.
    """
    trace, params = reading.trace, session.params(GraphParams)
    predicted = labels_of(trace.predicted_tokens, trace.target_text)
    if params.position == UNCHOSEN and st.session_state.get(LAST_TOKEN) in predicted:
        params = params.at(predicted.index(st.session_state[LAST_TOKEN]))
        session.store(params)
        session.rewrite_address()
    is_chosen = 0 <= params.position < len(predicted)
    position = params.position if is_chosen else _least_certain(trace)
    st.session_state[LAST_TOKEN] = predicted[position] if is_chosen else None
    st.pills(
        "How did this token come about?",
        range(len(predicted)),
        required=True,
        format_func=lambda at: markdown(predicted[at]),
        key=preset("graph_token", position),
        on_change=when_chosen("graph_token", lambda at: session.store(session.params(GraphParams).at(at))),
        help="The buttons are the tokens that the model predicted, in order.",
    )
    candidates = [
        int(each)
        for each in trace.candidate_ids[position]
        if each != trace.predicted_tokens[position].id and each not in reading.tokenizer.symbols.never_predicted
    ]
    against = params.against if params.against in (*candidates, NOTHING) else next(iter(candidates), NOTHING)
    labels = {candidate: entry_label(reading.tokenizer, candidate) for candidate in candidates} | {
        NOTHING: "no other token"
    }
    key = key_for("graph_against", labels.values())
    st.selectbox(
        "And not …",
        list(labels),
        width=260,
        format_func=labels.__getitem__,
        key=preset(key, against),
        on_change=lambda: session.update(GraphParams, position=position, against=st.session_state[key], path=-1),
        help="With a second token, the graph splits the difference between two logits. Without one, it predicts the "
        "effects of cuts far less well, because a change in the last norm shifts all logits together.",
    )
    return PathQuestion(
        Target((position,), None if against == NOTHING else (against,)),
        predicted[position],
        "" if against == NOTHING else label_without_space(labels[against]),
        labels_of(trace.source_tokens, trace.source_text),
        labels_of(trace.target_tokens, trace.target_text),
    )


def _least_certain(trace: Trace) -> int:
    """Return the position to explain by default: a translation's least certain step, or a text's last token."""
    words = [index for index, token in enumerate(trace.predicted_tokens) if not token.special] or [0]
    return words[int(np.argmax(trace.entropy[words]))] if trace.source_tokens else words[-1]
