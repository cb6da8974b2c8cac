"""Claims about decoding: token probabilities, beam search and sampling."""

import numpy as np

from transformer.errors import LessonError
from transformer.lessons.claims.registry import Finding, claim, finding
from transformer.lessons.evidence import END_NAME, Evidence
from transformer.running.runs.translation import TranslationRun
from transformer.text.vocabulary import SPACE_MARK
from transformer.values.decoding_settings import MAX_BEAM_SIZE, MAX_TEMPERATURE, MIN_TEMPERATURE, DecodingSettings
from transformer.values.tokens import Token
from transformer.values.translation import Translation

MAX_SAMPLES = 20


@claim("first", "second", "third", "probability", "second_probability", "step", "read")
def likeliest(evidence: Evidence, step: int = 1) -> Finding:
    """At a given step, the token that the model wrote is the most likely one."""
    trace, tokenizer = evidence.trace(), evidence.runs.tokenizer
    row = evidence.step(step)
    ids = [int(number) for number in trace.candidate_ids[row]]
    names = [token_name(token) for token in tokenizer.tokens(ids)]
    probabilities = np.exp(trace.candidate_log_probs[row])
    return finding(
        ids[0] == trace.predicted_tokens[row].id,
        first=names[0],
        second=names[1],
        third=names[2],
        probability=float(probabilities[0]),
        second_probability=float(probabilities[1]),
        step=step,
        read=" ".join(token_name(token) for token in trace.target_tokens[1:step]),
    )


@claim("probability", "steps", "lowest", "lowest_probability", "lowest_step")
def sentence_probability(evidence: Evidence) -> Finding:
    """A translation's probability is the product of its tokens' probabilities, so it is below each of them."""
    trace = evidence.trace()
    lowest = int(trace.log_probs.argmin())
    probability, least = float(np.exp(trace.log_probs.sum())), float(np.exp(trace.log_probs[lowest]))
    token = trace.predicted_tokens[lowest]
    return finding(
        probability < least,
        probability=probability,
        steps=len(trace.log_probs),
        lowest=token_name(token),
        lowest_probability=least,
        lowest_step=lowest + 1,
    )


@claim("read", "written", "shifted", "complete")
def shifted(evidence: Evidence) -> Finding:
    """Each step reads the token that the previous step wrote, and the last step writes the end symbol."""
    trace = evidence.trace()
    follows = trace.target_tokens[1:] == trace.predicted_tokens[:-1]
    last = trace.predicted_tokens[-1]
    return finding(
        follows and trace.complete,
        read=len(trace.target_tokens),
        written=len(trace.predicted_tokens),
        shifted=1,
        complete=token_name(last),
    )


@claim("greedy", "beam", "greedy_probability", "beam_probability", "times", "verdict", "beam_size")
def beam_against_greedy(evidence: Evidence, beam_size: int, least: float = 1.0) -> Finding:
    """Beam search finds a translation at least `least` times as likely as the greedy translation."""
    greedy, beam = beam_and_greedy(evidence, beam_size)
    gain = beam.log_prob - greedy.log_prob
    return finding(
        float(np.exp(gain)) > least - 1e-4,
        greedy=greedy.text,
        beam=beam.text,
        greedy_probability=float(np.exp(greedy.log_prob)),
        beam_probability=float(np.exp(beam.log_prob)),
        times=float(np.exp(gain)),
        beam_size=beam_size,
        verdict="the same" if beam.text == greedy.text else "a different one",
    )


def beam_and_greedy(evidence: Evidence, beam_size: int) -> tuple[Translation, Translation]:
    """Return the greedy translation and the beam search translation.

    Raises:
        LessonError: the beam size is out of range.
    """
    if not 1 <= beam_size <= MAX_BEAM_SIZE:
        raise LessonError(f"beam_size must be 1 to {MAX_BEAM_SIZE}, not {beam_size}")
    greedy = evidence.runs.get(TranslationRun(evidence.sentence))
    if beam_size == 1:
        return greedy, greedy
    return greedy, evidence.runs.get(
        TranslationRun(evidence.sentence, DecodingSettings("beam", beam_size=beam_size, length_penalty=0.0))
    )


@claim("different", "warm", "count", "greedy", "temperature")
def cooled(evidence: Evidence, temperature: float, count: int) -> Finding:
    """Sampling at a low temperature produces fewer different translations than sampling at temperature 1."""
    cold = sampled(evidence, temperature, count, 1, count).values
    warm = sampled(evidence, 1.0, count, 1, count).values["different"]
    return finding(
        float(cold["different"]) < float(warm),
        different=cold["different"],
        warm=warm,
        count=count,
        greedy=cold["greedy"],
        temperature=temperature,
    )


@claim("different", "count", "greedy", "example", "temperature")
def sampled(evidence: Evidence, temperature: float, count: int, least: int, most: int) -> Finding:
    """Sampling `count` translations at a temperature produces between `least` and `most` different ones."""
    texts = [one.text for one in samples(evidence, temperature, count)]
    greedy = evidence.runs.get(TranslationRun(evidence.sentence)).text
    different = len(set(texts))
    return finding(
        least <= different <= most,
        different=different,
        count=count,
        greedy=greedy,
        temperature=temperature,
        example=next((text for text in texts if text != greedy), greedy),
    )


def samples(evidence: Evidence, temperature: float, count: int) -> list[Translation]:
    """Sample translations at a temperature, with seeds 1 to `count`.

    Raises:
        LessonError: the temperature or the count is out of range.
    """
    if not 1 <= count <= MAX_SAMPLES:
        raise LessonError(f"count must be from 1 to {MAX_SAMPLES}, not {count}")
    if not MIN_TEMPERATURE <= temperature <= MAX_TEMPERATURE:
        raise LessonError(f"temperature must be from {MIN_TEMPERATURE:g} to {MAX_TEMPERATURE:g}, not {temperature:g}")
    return [
        evidence.runs.get(
            TranslationRun(evidence.sentence, DecodingSettings("sample", temperature=temperature, seed=seed))
        )
        for seed in range(1, count + 1)
    ]


def token_name(token: Token) -> str:
    """Return a token's text for use in a sentence, such as "the end symbol"."""
    return END_NAME if token.role == "end" else token.text.replace(SPACE_MARK, " ").strip() or SPACE_MARK
