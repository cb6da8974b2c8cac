import numpy as np
import pytest

from transformer.analysis.heads.clearest_head import clearest_head
from transformer.analysis.heads.metrics import head_metrics
from transformer.analysis.sentence_film import sentence_film
from transformer.analysis.word_links import counterparts, source_words, target_words
from transformer.values.trace import KINDS

SENTENCE, TRANSLATION, WORD = "The old man reads a book.", "Der alte Mann liest ein Buch.", 2


def film_of(translator, word, *, details=True):
    """Return the trace of `SENTENCE`, the head metrics by attention kind, and the film's frames by name."""
    trace = translator.trace(SENTENCE, TRANSLATION, details=details)
    metrics = {kind: head_metrics(trace, kind, translator.tokenizer.key_scores(kind)) for kind in KINDS}
    return trace, metrics, {each.name: each for each in sentence_film(trace, translator.weights(), metrics, word)}


@pytest.fixture(scope="module")
def film(small_translator):
    return film_of(small_translator, WORD)


def numbers(frame):
    return [line.numbers.tolist() for line in frame.lines]


def test_film_frames_are_in_the_order_of_computation(film):
    assert list(film[2]) == [
        "words",
        "tokens",
        "vector",
        "scores",
        "weights",
        "values",
        "layers",
        "mask",
        "cross",
        "next",
        "again",
    ]


def test_film_shows_the_words_and_tokens_of_the_sentence(film):
    trace, _, frames = film
    groups = source_words(trace).rows
    assert frames["words"].row == WORD and numbers(frames["words"]) == [[len(group) for group in groups]]
    assert frames["tokens"].row == groups[WORD][0]
    assert numbers(frames["tokens"]) == [[token.id for token in trace.source_tokens]]


def test_film_shows_the_vector_that_enters_the_first_layer(film):
    trace, _, frames = film
    embedding, position, total = (line.numbers for line in frames["vector"].lines)
    np.testing.assert_array_equal(total, trace.residual_stream("encoder")[0, frames["vector"].row].astype(np.float64))
    np.testing.assert_allclose(embedding + position, total, atol=1e-5)


def test_film_shows_the_scores_weights_and_values_of_one_head(film):
    trace, _, frames = film
    row, layer, head = frames["scores"].row, frames["scores"].layer, frames["scores"].head
    detail = {
        name: trace.detail("encoder", name)[layer, head] for name in ("queries", "keys", "values", "outputs", "scores")
    }
    weights = trace.encoder[layer, head, row]
    query, key, scores = frames["scores"].lines
    assert query.numbers.tolist() == detail["queries"][row].tolist() and key.token == weights.argmax()
    assert key.numbers.tolist() == detail["keys"][key.token].tolist()
    assert scores.numbers.tolist() == detail["scores"][row].tolist()
    score = query.numbers @ key.numbers / len(key.numbers) ** 0.5
    np.testing.assert_allclose(scores.numbers[key.token], score, rtol=1e-4)
    assert numbers(frames["weights"]) == [weights.tolist()]
    *mixed, output = frames["values"].lines
    assert [line.token for line in mixed] == np.argsort(-weights, kind="stable")[: len(mixed)].tolist()
    assert [line.numbers.tolist() for line in mixed] == detail["values"][[line.token for line in mixed]].tolist()
    assert output.numbers.tolist() == detail["outputs"][row].tolist()
    np.testing.assert_allclose(output.numbers, weights @ detail["values"], atol=1e-5)


def test_film_shows_the_cosine_similarity_to_the_first_vector_after_each_layer(film):
    trace, _, frames = film
    first, *later = trace.residual_stream("encoder")[::2, frames["layers"].row].astype(np.float64)
    expected = [first @ each / np.sqrt((first @ first) * (each @ each)) for each in (first, *later)]
    np.testing.assert_allclose(frames["layers"].lines[0].numbers, expected, rtol=1e-9)
    assert len(later) == len(trace.encoder)


def test_film_of_a_pronoun_shows_the_head_that_links_it_to_its_noun(shipped):
    trace = shipped.trace("The animal did not cross the street because it was too tired.", details=True)
    metrics = {kind: head_metrics(trace, kind, shipped.tokenizer.key_scores(kind)) for kind in KINDS}
    words = source_words(trace)
    spelled = [words.spelling(word) for word in range(len(words.tokens))]
    frames = {each.name: each for each in sentence_film(trace, shipped.weights(), metrics, spelled.index("it"))}
    weights = frames["weights"]
    assert (weights.layer, weights.head) == (5, 0)
    assert weights.lines[0].numbers.argmax() == words.rows[spelled.index("animal")][0]


def test_film_shows_the_mask_and_cross_attention_of_the_step_that_writes_the_word(film):
    trace, _, frames = film
    step = target_words(trace).rows[counterparts(trace)[0][WORD]][0]
    for name, kind in (("mask", "decoder"), ("cross", "cross")):
        frame, (line,) = frames[name], frames[name].lines
        assert (frame.row, frame.kind) == (step, kind)
        assert line.numbers.tolist() == trace.attention(kind)[frame.layer, frame.head, step].tolist()
        assert line.allowed.tolist() == trace.mask(kind)[step].tolist()
    assert not frames["mask"].lines[0].allowed[step + 1 :].any()


def test_film_shows_the_candidates_of_one_step_and_the_probability_of_every_written_token(film):
    trace, _, frames = film
    step, (likely,) = frames["next"].row, frames["next"].lines
    assert likely.at.tolist() == trace.candidate_ids[step].tolist()
    np.testing.assert_allclose(likely.numbers, np.exp(trace.candidate_log_probs[step]))
    np.testing.assert_allclose(frames["again"].lines[0].numbers, np.exp(trace.log_probs))


def test_film_without_a_chosen_word_shows_the_first_token_and_the_default_heads(small_translator):
    trace, metrics, frames = film_of(small_translator, -1)
    assert [frames[name].row for name in ("tokens", "scores", "mask", "next")] == [0, 0, 0, 0]
    for name in ("weights", "mask", "cross"):
        telling = clearest_head(trace, metrics[frames[name].kind])
        assert (frames[name].layer, frames[name].head) == (telling.layer, telling.head)


def test_film_of_a_trace_without_details_raises_an_error(small_translator):
    with pytest.raises(ValueError, match="details=True"):
        film_of(small_translator, WORD, details=False)
