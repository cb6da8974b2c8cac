"""Converts the `generate` settings in a Hugging Face folder, and reports unsupported settings."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import msgspec

from transformer.config import MAX_CHARACTERS
from transformer.generation import Generation
from transformer.text.vocabulary import Symbols

APPLIED_SETTINGS = tuple(field.name for field in fields(Generation))
# Settings that change the output of `generate` but are not supported here. Each tuple lists the values with which
# a setting has no effect. An absent setting (None) never has an effect.
NEUTRAL_VALUES: Mapping[str, tuple[object, ...]] = {
    "force_words_ids": ([],),
    "constraints": ([],),
    "sequence_bias": ([], {}),
    "encoder_repetition_penalty": (1,),
    "encoder_no_repeat_ngram_size": (0,),
    "exponential_decay_length_penalty": (),
    "num_beams": (1,),
    "num_beam_groups": (1,),
    "diversity_penalty": (0,),
    "penalty_alpha": (0,),
    "guidance_scale": (1,),
    "do_sample": (False,),
    "stop_strings": ([],),
    "max_time": (),
    "watermarking_config": (),
}
# Settings that affect only beam search (BEAM_SETTINGS) or only sampling (SAMPLING_SETTINGS).
BEAM_SETTINGS = {"length_penalty": ()}
SAMPLING_SETTINGS = {"temperature": (1,), "top_k": (0,), "top_p": (1,), "min_p": (), "typical_p": (1,)}


def generation_of(settings: Mapping[str, Any], pad: int) -> Generation:
    """Return the supported `generate` settings in a model folder.

    Args:
        settings: contents of generation_config.json, or of config.json in a folder without that file.
        pad: id of the padding symbol. It is removed from `bad_words_ids`, because decoding here never writes padding.

    Raises:
        ValueError: a setting has the wrong type or is out of range.
    """
    values = {name: settings[name] for name in APPLIED_SETTINGS if settings.get(name) is not None}
    if isinstance(values.get("bad_words_ids"), list):
        values["bad_words_ids"] = [word for word in values["bad_words_ids"] if word != [pad]]
    forced = values.get("forced_eos_token_id")
    if isinstance(forced, list) and len(forced) == 1:
        values["forced_eos_token_id"] = forced[0]
    try:
        return msgspec.convert(values, Generation)
    except msgspec.ValidationError as error:
        raise ValueError(f"a generate() setting cannot be used: {error}") from error


def generation_settings(generation: Generation | None, symbols: Symbols, positions: int) -> dict[str, Any]:
    """Return settings for generation_config.json that make `generate` decode as this program does.

    Args:
        generation: settings of an imported model; None for a model trained by this project.
        symbols: special symbols of the model's vocabulary.
        positions: the model's maximum number of positions.
    """
    never = [(token,) for token in sorted(symbols.never_predicted)]
    if generation is None:
        generation = Generation(max_length=positions, renormalize_logits=True)
    changed = {field.name: getattr(generation, field.name) for field in fields(generation)}
    changed = {name: value for name, value in changed.items() if value != getattr(Generation(), name)}
    return {**changed, "bad_words_ids": [*never, *generation.bad_words_ids]}


def unapplied(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Return unsupported settings that change the output of `generate`, one line each.

    A line has the name of the setting and, unless the line would be too long, the value.

    Args:
        settings: contents of generation_config.json, or of config.json in a folder without that file.
    """
    neutral = dict(NEUTRAL_VALUES)
    beams = settings.get("num_beams")
    if isinstance(beams, int) and beams > 1:
        neutral |= BEAM_SETTINGS
    if settings.get("do_sample") is True:
        neutral |= SAMPLING_SETTINGS
    ignored = {
        name: value
        for name, values in neutral.items()
        if (value := settings.get(name)) is not None and value not in values
    }
    lines = {name: f"{name} {json.dumps(value)}" for name, value in ignored.items()}
    return tuple(line if len(line) <= MAX_CHARACTERS else name for name, line in lines.items())


def applied_elsewhere(lines: Sequence[str], *, end: int) -> dict[str, Any]:
    """Convert the result of `unapplied` back to settings for generation_config.json.

    Args:
        lines: result of `unapplied`, and lines such as "eos_token_id 7" for additional end symbols.
        end: id of the model's own end symbol.
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
