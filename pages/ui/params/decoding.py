"""URL parameters of the "Decoding step by step" page: the decoding settings and the display settings."""

from dataclasses import dataclass, replace
from typing import Self

from pages.ui.params.attention import MAX_COUNT, MAX_INDEX
from pages.ui.params.fields import Params, decimal, flag, index, integer, integers, one_of
from transformer.text.vocabulary import OWN_SYMBOLS, Symbols
from transformer.values.decoding_settings import MAX_BEAM_SIZE, METHODS, MIN_TEMPERATURE, DecodingSettings, Method

SHOWS = ("head", "mean", "all")
# Above this temperature, all tokens are almost equally likely. Above this length penalty, the ranking of
# hypotheses depends almost only on their length.
MAX_TEMPERATURE = 10.0
MAX_LENGTH_PENALTY = 3.0
# Upper limit for token IDs, top-k, seeds and the node numbers of a search tree; no model needs larger numbers.
MAX_ID = 999_999


@dataclass(frozen=True)
class DecodingParams(Params):
    """The decoding settings of a translation, and the display settings of the page.

    Attributes:
        step: the 0-based decoding step on screen.
        show: the attention to show, one of SHOWS: one head, the mean of all heads, or every head.
        method, beam_size, length_penalty, temperature, top_k, top_p, seed: as in `DecodingSettings`.
        forced: the token IDs that the translation must begin with.
        suppressed: the token IDs that are never chosen, in ascending order.
        node: the 1-based number of the chosen node in the beam search tree; 0 for none.
        search: whether the model decodes freely even if the user has supplied a translation.
    """

    OF_TRANSLATION = ("step", "forced", "suppressed", "node", "search")

    step: int = index(MAX_INDEX)
    show: str = one_of(SHOWS)
    method: Method = one_of(METHODS)
    beam_size: int = integer(4, 1, MAX_BEAM_SIZE, former="size")
    length_penalty: float = decimal(0.6, 0.0, MAX_LENGTH_PENALTY, former="alpha")
    # The default is below 1 because a small model's samples at temperature 1 stray from the meaning of the sentence.
    temperature: float = decimal(0.7, MIN_TEMPERATURE, MAX_TEMPERATURE)
    top_k: int = integer(0, 0, MAX_ID)
    top_p: float = decimal(1.0, 0.01, 1.0)
    seed: int = integer(1, 0, MAX_ID)
    forced: tuple[int, ...] = integers((), 0, MAX_ID, count=MAX_COUNT, repeated=True)
    suppressed: tuple[int, ...] = integers((), 0, MAX_ID, count=MAX_COUNT, former="never")
    node: int = integer(0, 0, MAX_ID)
    search: bool = flag()

    @property
    def settings(self) -> DecodingSettings:
        """Return the decoding settings; settings that the chosen method ignores have their default values."""
        if self.method == "beam":
            return DecodingSettings("beam", beam_size=self.beam_size, length_penalty=self.length_penalty)
        if self.method == "sample":
            return DecodingSettings(
                "sample", temperature=self.temperature, top_k=self.top_k, top_p=self.top_p, seed=self.seed
            )
        return DecodingSettings(self.method)

    @property
    def free(self) -> bool:
        """Whether the decoder reads the user's translation unchanged: no search, and no forced or suppressed tokens."""
        return not (self.forced or self.suppressed or self.search)

    @property
    def in_words(self) -> str:
        """The decoding settings in words, phrased to follow "This is from"."""
        settings = self.settings
        if settings.method == "beam":
            parts = [f"a beam of {settings.beam_size}", f"length penalty {settings.length_penalty:g}"]
        elif settings.method == "sample":
            parts = [
                f"sampling at temperature {settings.temperature:g}",
                *([f"top-k {settings.top_k}"] if settings.top_k else []),
                *([f"top-p {settings.top_p:g}"] if settings.top_p < 1 else []),
                f"seed {settings.seed}",
            ]
        else:
            parts = ["greedy decoding"]
        if self.forced:
            parts.append(f"first {len(self.forced)} tokens forced" if self.forced[1:] else "first token forced")
        if self.suppressed:
            parts.append(f"{len(self.suppressed)} {'tokens' if self.suppressed[1:] else 'token'} banned")
        return ", ".join(parts)

    def within(self, vocabulary: int, symbols: Symbols = OWN_SYMBOLS) -> Self:
        """Return a copy that is valid for a model.

        Forced tokens after an end symbol are dropped. If the model cannot predict one of the remaining forced
        tokens, all forced tokens are dropped. Suppressed tokens outside the vocabulary are dropped.

        Args:
            vocabulary: the size of the model's vocabulary.
            symbols: the model's special symbols.
        """
        end = symbols.end
        forced = self.forced[: self.forced.index(end) + 1] if end in self.forced else self.forced
        if any(token >= vocabulary or token in symbols.never_predicted for token in forced):
            forced = ()
        suppressed = tuple(sorted({token for token in self.suppressed if token < vocabulary}))
        return replace(self, forced=forced, suppressed=suppressed)
