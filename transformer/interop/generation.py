"""Settings of `generate` in a Hugging Face folder, and which of them the searches here do not apply."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from transformer.config import LONGEST
from transformer.decoding.texts import MAX_PIECES

# Settings that change the output, with their neutral values; None, which means absent, is always neutral.
NEUTRAL: Mapping[str, tuple[object, ...]] = {
    "forced_bos_token_id": (), "suppress_tokens": ([],), "begin_suppress_tokens": ([],),
    "bad_words_ids": ([],), "force_words_ids": ([],), "constraints": ([],), "sequence_bias": ([], {}),
    "repetition_penalty": (1,), "encoder_repetition_penalty": (1,), "no_repeat_ngram_size": (0,),
    "encoder_no_repeat_ngram_size": (0,), "min_length": (0,), "min_new_tokens": (0,),
    "exponential_decay_length_penalty": (), "num_beams": (1,), "num_beam_groups": (1,), "diversity_penalty": (0,),
    "penalty_alpha": (0,), "guidance_scale": (1,), "do_sample": (False,), "stop_strings": ([],), "max_time": (),
    "watermarking_config": (),
}
# Settings that only matter together with others.
OF_BEAMS = {"length_penalty": (1,), "early_stopping": (False,)}
OF_SAMPLES = {"temperature": (1,), "top_k": (0,), "top_p": (1,), "min_p": (), "typical_p": (1,)}
LIMITS = ("max_length", "max_new_tokens")


def unapplied(settings: Mapping[str, Any], *, pad: int, end: int, positions: int) -> tuple[str, ...]:
    """The settings that change the output of `generate` but not the output here, each with its value.

    Args:
        settings: generation_config.json, or the config.json of a folder that has none.
        pad: the padding symbol, which is never written here either.
        end: the end symbol, which also ends a text here, but is not forced when a text grows too long.
        positions: number of positions of the model; a limit of as many is neutral.
    """
    limits = {
        name: value for name in LIMITS
        if isinstance(value := settings.get(name), int) and value < min(MAX_PIECES, positions)
    }
    neutral = {**NEUTRAL, "bad_words_ids": ([], [[pad]]), "forced_eos_token_id": () if limits else (end, [end])}
    beams = settings.get("num_beams")
    if isinstance(beams, int) and beams > 1:
        neutral |= OF_BEAMS
    if settings.get("do_sample") is True:
        neutral |= OF_SAMPLES
    found = limits | {
        name: value for name, values in neutral.items()
        if (value := settings.get(name)) is not None and value not in values
    }
    lines = {name: f"{name} {json.dumps(value)}" for name, value in found.items()}
    return tuple(line if len(line) <= LONGEST else name for name, line in lines.items())


def applied_elsewhere(lines: Sequence[str], *, end: int) -> dict[str, Any]:
    """The settings that `unapplied` named, with their values, to be written to a folder again.

    Args:
        lines: result of `unapplied`, and "eos_token_id 7" for additional symbols that end a text.
        end: the model's own end symbol.
    """
    settings: dict[str, Any] = {}
    ends = [end]
    for line in lines:
        name, _, value = line.partition(" ")
        if name == "eos_token_id":
            ends.append(json.loads(value))
        elif value:
            settings[name] = json.loads(value)
    return settings if len(ends) == 1 else {**settings, "eos_token_id": ends}
