"""Describes the measured costs of attention in plain English."""

from collections.abc import Mapping, Sequence

from pages.ui.long_texts.names import NAMES
from pages.ui.params.long_texts import KEYS_AND_VALUES, SECONDS, WEIGHTS
from transformer.config import Attention
from transformer.language_modelling.cost import Cost, slopes
from transformer.language_modelling.cost_measurement import configuration

UNITS = {WEIGHTS: "bytes", SECONDS: "seconds", KEYS_AND_VALUES: "bytes"}
SUBJECTS = {
    WEIGHTS: "The map of **{length:,} tokens** takes {amount} per head.",
    SECONDS: "With full attention, a pass over **{length:,} tokens** takes {amount}.",
    KEYS_AND_VALUES: "The keys and values of **{length:,} tokens** take {amount} per head.",
}
# Names of the kinds of attention, with the block size or stride used in the measurements.
FULL_NAMES: Mapping[Attention, str] = {
    "full": "Full",
    "local": f"Local, in blocks of {configuration('local').block} tokens",
    "compressed": f"Compressed, {configuration('compressed').stride} tokens per key",
}
# A well-known model for comparison, and its total number of heads (12 in each of 12 layers).
GPT2, GPT2_HEADS = "GPT-2 small", 144
# Above this slope, the time grows clearly faster than an attention map's number of cells, which has slope 2.
STEEP_SLOPE = 2.1
CONCLUSIONS = {
    WEIGHTS: "Compression makes the map smaller by a constant factor, but the slope stays 2. This postpones the limit "
    "that memory sets, but does not remove it. Local attention has slope 1, but no token sees beyond its block. "
    "Up to the length of one block, local attention equals full attention, so the two lines coincide.",
    SECONDS: "The time for steps that treat each token separately, such as the feed-forward network, grows with slope "
    "1. The time for the map grows with slope 2. So the longer the text, the larger the map’s share of the time. "
    "Compression removes part of the map’s time but leaves the slope close to 2. Local attention, with its blocks, "
    "brings the slope close to 1.",
    KEYS_AND_VALUES: "Keys and values grow with slope 1 and the map with slope 2, so the map exceeds the memory "
    "first. Compression shrinks the map and the keys and values. Local attention shrinks only "
    "the map: it keeps every key and value, so its line coincides with that of full attention.",
}
MACHINE = " A slope above 2 comes from the hardware: a map too large for the CPU cache takes longer per cell."


def format_value(value: float, quantity: str) -> str:
    """Format a value of a quantity with a unit, such as "1.5 MB"."""
    units = {1: "s", 1e-3: "ms", 1e-6: "µs"} if quantity == SECONDS else {1e9: "GB", 1e6: "MB", 1e3: "kB", 1: "bytes"}
    size = next((size for size in sorted(units, reverse=True) if value >= size), min(units))
    return f"{value / size:,.3g} {units[size]}"


def describe_slopes(measured_costs: Sequence[Cost], quantity: str) -> list[str]:
    """Return Markdown sentences, one per kind of attention, that say how a quantity grows with text length."""
    return [
        f"**{FULL_NAMES[attention]}:** a text twice as long takes {2**slope:.1f} times the {UNITS[quantity]} "
        f"(slope {slope:.2f})."
        for attention, slope in slopes(measured_costs, quantity).items()
    ]


def describe_saving(measured_costs: Sequence[Cost], quantity: str) -> str:
    """Return Markdown that states the cost of each kind of attention for the longest text."""
    length, costs = longest_costs(measured_costs)
    full = getattr(costs["full"], quantity)
    sentences = [SUBJECTS[quantity].format(length=length, amount=f"**{format_value(full, quantity)}**")]
    if quantity == WEIGHTS:
        sentences.append(
            f"The {GPT2_HEADS} heads of {GPT2} take **{format_value(GPT2_HEADS * full, quantity)}** for a single text, "
            "and four times that for a text twice as long. This is why the maps of long texts do not fit into memory."
        )
    others = [
        f"{NAMES[attention].lower()} attention takes {_share(getattr(cost, quantity) / full)} "
        f"({format_value(getattr(cost, quantity), quantity)})"
        for attention, cost in costs.items()
        if attention != "full"
    ]
    if others:
        sentences.append(f"For the same text, {' and '.join(others)}.")
    return " ".join(sentences)


def conclusion(measured_costs: Sequence[Cost], quantity: str) -> str:
    """Return the text that explains a quantity's slopes."""
    steep = quantity == SECONDS and slopes(measured_costs, quantity).get("full", 0.0) > STEEP_SLOPE
    return CONCLUSIONS[quantity] + (MACHINE if steep else "")


def longest_costs(measured_costs: Sequence[Cost]) -> tuple[int, Mapping[Attention, Cost]]:
    """Return the longest text length measured with full attention, and the costs of each kind of attention at this
    length.
    """
    length = max(cost.length for cost in measured_costs if cost.attention == "full")
    return length, {cost.attention: cost for cost in measured_costs if cost.length == length}


def _share(part: float) -> str:
    """Describe a fraction of the cost of full attention, such as "a third of that"."""
    if part > 1.1:
        return f"{part:.1f} times that"
    parts = round(1 / part)
    return {1: "as much", 2: "half of that", 3: "a third of that", 4: "a quarter of that"}.get(
        parts, f"1/{parts:,} of that"
    )
