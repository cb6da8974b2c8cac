"""Lets the user choose a second translation model for the same sentence, and matches the two models' heads."""

from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
import streamlit as st

from attention_atlas.browser.labels import head_name
from pages.ui.components.side_by_side import head_map, side_by_side
from pages.ui.params.attention import AttentionParams
from pages.ui.params.compare_heads import UNTRAINED, CompareParams
from pages.ui.reading.model_picker import chosen_model, load
from pages.ui.runs.inference import CachedRuns
from pages.ui.runs.page_end import PageEnd
from pages.ui.state import session
from pages.ui.state.bind import bind
from pages.ui.text.markup import markdown
from pages.ui.text.server_paths import error_text
from transformer.analysis.heads.matching import best_match, matched_similarity, shuffled_similarity, similarities
from transformer.analysis.view import view_of
from transformer.checkpoints.available_models import SHIPPED, model_folders
from transformer.errors import AtlasError
from transformer.measurements.matching import second_trace, shared_kinds, untrained_model
from transformer.running.translator import Translator
from transformer.values.trace import Kind, Trace

RANDOM_NAME = "random weights"
# Maps each trained model to a model of the same shape with random weights, which is dropped together with the trained
# model.
UNTRAINED_MODELS: WeakKeyDictionary[Translator, Translator] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class TwoModels:
    """Two translation models that have read the same sentence. Heads are numbered as in `head_distances`.

    Attributes:
        own, other: the names of the two models; `other` may be UNTRAINED.
        second: the second model.
        kind: the attention kind to compare.
        traces: the two models' traces.
    """

    own: str
    other: str
    second: Translator
    kind: Kind
    traces: tuple[Trace, Trace]

    @property
    def title(self) -> str:
        return RANDOM_NAME if self.other == UNTRAINED else self.other

    @property
    def heads(self) -> tuple[int, int]:
        """The number of heads per layer in each model."""
        first, second = (trace.attention(self.kind).shape[1] for trace in self.traces)
        return first, second

    @cached_property
    def similarity(self) -> np.ndarray:
        return similarities(*self.traces, self.kind)

    @cached_property
    def match(self) -> np.ndarray:
        return best_match(self.similarity)

    @property
    def shown(self) -> np.ndarray:
        """For each head of the first model, its match in the second model; without a match, the most similar head."""
        return np.where(self.match < 0, self.similarity.argmax(axis=1), self.match)

    @property
    def matched(self) -> np.ndarray:
        return matched_similarity(self.similarity, self.match)

    @property
    def shuffled(self) -> np.ndarray:
        return shuffled_similarity(self.similarity, self.match, self.heads[1])

    def show_head(self, choice: AttentionParams) -> None:
        """Describe which head of the second model matches the chosen head, and show both heads' attention maps."""
        at = choice.layer * self.heads[0] + choice.head
        st.markdown(self._describe_head(at))
        places = [divmod(number, count) for number, count in zip((at, int(self.shown[at])), self.heads, strict=True)]
        side_by_side(
            [
                head_map(of, view_of(trace, self.kind, words=choice.words), *place)
                for of, trace, place in zip((self.own, self.title), self.traces, places, strict=True)
            ],
            "two_models",
            sentence=self.traces[0].text,
        )

    def _describe_head(self, at: int) -> str:
        """Return Markdown that names a head's match, and the most similar head if that is not the match."""
        (own, other), title = self.heads, markdown(self.title)
        here, nearest = f"**Head {head_name(at, own)} of {markdown(self.own)}**", int(self.similarity[at].argmax())
        match = int(self.match[at])
        if match < 0:
            return (
                f"{here} has no match, because the second model has fewer heads. The most similar one is "
                f"head {head_name(nearest, other)} of {title}: similarity {self.similarity[at, nearest]:.2f}."
            )
        description = (
            f"{here} is matched with **head {head_name(match, other)} of {title}**: similarity "
            f"{self.similarity[at, match]:.2f} (average over all heads in the match's layer: {self.shuffled[at]:.2f})."
        )
        if nearest != match:
            description += (
                f" Head {head_name(nearest, other)} is more similar ({self.similarity[at, nearest]:.2f}), but is "
                "matched with another head."
            )
        return description


def pick_second_model() -> str:
    """Show a select box for the second model, and return the chosen model's name."""
    own = _own()
    names = [*(name for name in model_folders() if name != own), UNTRAINED]
    wanted = session.params(CompareParams).other
    shown_name = wanted if wanted in names else names[0]
    st.selectbox(
        "Second model",
        names,
        width=320,
        format_func=lambda name: RANDOM_NAME if name == UNTRAINED else name,
        **bind(CompareParams, "other", value=shown_name),
        help="An installed model, or an untrained model with the first model's shape. Both models read the "
        "same sentence, and the same translation if they translate into the same language.",
    )
    return shown_name


def two_models(first: Translator, name: str, trace: Trace, kind: Kind) -> TwoModels:
    """Read the sentence with the second model, and return both models with their traces.

    Args:
        name: the second model's name.
        trace: the first model's trace.

    Raises:
        PageEnd: the heads cannot be compared; a message on the page says why.
    """
    folder = model_folders().get(name)
    second = load(folder.path, folder.problem) if folder else untrained_of(first)
    try:
        kinds = shared_kinds(first, second, trace.source_text)
        other_trace = second_trace(first, CachedRuns(second), second, trace)
    except (AtlasError, ValueError) as error:
        st.warning(error_text(error), icon=":material/edit:")
        raise PageEnd from None
    if kind not in kinds:
        st.info("The two models translate into different languages, so only their encoder attention can be compared.")
        raise PageEnd
    return TwoModels(_own(), name, second, kind, (trace, other_trace))


def untrained_of(translator: Translator) -> Translator:
    """Return a model with random weights and the translator's shape, created once per translator."""
    model = UNTRAINED_MODELS.get(translator)
    return model if model is not None else UNTRAINED_MODELS.setdefault(translator, untrained_model(translator))


def _own() -> str:
    folder = chosen_model()
    return folder.name if folder else SHIPPED
