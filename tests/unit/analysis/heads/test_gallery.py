from dataclasses import replace

import numpy as np
import pytest

from transformer.analysis.heads.gallery import Gallery, gallery_of
from transformer.analysis.heads.tasks import TASK, TASKS
from transformer.analysis.view import view_of
from transformer.text.languages import Languages, language
from transformer.values.tokens import Token


def links(made_up_trace, task, source, target, **maps):
    return list(TASK[task].links(made_up_trace(source.split(), target.split(), **maps)))


def looking(rows, columns, cells):
    """Return a map in which each (row, column) of `cells` has all the weight of its row; other rows are uniform."""
    weights = np.full((rows, columns), 1 / columns)
    for row, column in cells:
        weights[row] = np.eye(columns)[column]
    return weights


def test_previous_and_next_token_tasks_exclude_the_first_token_and_the_end_symbol(made_up_trace):
    assert links(made_up_trace, "previous", "a b c d", "x") == [(2, (1,)), (3, (2,))]
    assert links(made_up_trace, "next", "a b c d", "x") == [(0, (1,)), (1, (2,)), (2, (3,))]
    assert links(made_up_trace, "previous_german", "a", "x y z") == [(2, (1,)), (3, (2,))]


def test_negation_task_links_the_neighbours_of_a_negation_to_the_negation(made_up_trace):
    assert links(made_up_trace, "negation", "I do not sleep", "x") == [(1, (2,)), (3, (2,))]
    assert links(made_up_trace, "negation", "Nobody sleeps", "x") == [(1, (0,))]
    assert links(made_up_trace, "negation", "We didn't sleep", "x") == [(0, (1,)), (2, (1,))]
    assert links(made_up_trace, "negation", "a knot is another thing", "x") == []


def test_negation_task_requires_exactly_one_negation_per_sentence(made_up_trace):
    assert links(made_up_trace, "negation_german", "I do not sleep", "Ich schlafe nicht.") == [(2, (2,))]
    assert links(made_up_trace, "negation_german", "I do not, not sleep", "Ich schlafe nicht.") == []
    assert links(made_up_trace, "negation_german", "I sleep", "Ich schlafe nicht.") == []


def test_clause_comma_task_requires_a_comma_without_an_english_counterpart(made_up_trace):
    target = "Ich weiß , dass du schläfst."
    assert links(made_up_trace, "comma", "I know that you sleep.", target) == [(2, (2,))]
    assert links(made_up_trace, "comma", "I know , that you sleep.", target) == []
    assert links(made_up_trace, "comma", "That dog sleeps.", target) == [], "the first word opens no clause"


def test_participle_tasks_link_the_final_participle_to_its_verb_and_auxiliary(made_up_trace):
    source, target = "I have seen the old house .", "Ich habe das alte Haus gesehen ."
    # The step that reads "Haus" predicts "gesehen".
    cross = looking(8, 8, [(5, 2)])
    assert links(made_up_trace, "verb", source, target, cross=cross) == [(5, (2,))]
    assert links(made_up_trace, "verb", source, target, cross=looking(8, 8, [(5, 5)])) == [], "the last word"
    assert links(made_up_trace, "auxiliary", source, target) == [(5, (2,))]
    assert links(made_up_trace, "auxiliary", source, "Ich sehe das alte Haus .") == []
    assert links(made_up_trace, "auxiliary", source, "Ich habe gesehen .") == [], "too near to be a task"
    assert links(made_up_trace, "auxiliary", source, "Ich habe das alte Haus .") == [], "a noun is no verb"
    assert links(made_up_trace, "auxiliary", source, "Das Haus war sehr kalt .") == [], "nor is an adjective"
    assert links(made_up_trace, "auxiliary", source, f"Ich habe das Haus {'ge' * 200_000}! .") == [], "nor any word"


def test_alignment_tasks_exist_for_the_step_that_predicts_a_token_and_the_step_that_reads_it(made_up_trace):
    cross = looking(3, 3, [(0, 0), (1, 1)])
    assert links(made_up_trace, "alignment", "A dog", "Ein Hund", cross=cross) == [(1, (1,))]
    assert links(made_up_trace, "alignment_read", "A dog", "Ein Hund", cross=cross) == [(2, (1,))]


def test_two_gallery_tasks_describe_attention_to_the_end_symbol(made_up_trace):
    assert links(made_up_trace, "resting", "A dog", "Ein Hund") == [(0, (2,)), (1, (2,))]
    assert links(made_up_trace, "finished", "A dog", "Ein Hund") == [(2, (2,))]


def test_gallery_shows_the_head_with_the_most_attention_for_a_task_on_its_best_sentences(made_up_trace):
    """One head attends uniformly. The other attends to the previous word, more strongly in the second sentence."""
    sentences = ["one two three four five six seven", "eight nine ten eleven twelve thirteen fourteen"]
    traces = []
    for sentence, certain in zip(sentences, (0.6, 0.9), strict=True):
        even = np.full((8, 8), 1 / 8)
        before = certain * np.eye(8, k=-1) + (1 - certain) / 8
        traces.append(made_up_trace(sentence.split(), ["Hund"], encoder=np.stack([even, before])[None]))
    found = gallery_of(traces, "a model")
    shown = {each.task: each for each in found.exhibits}["previous"]
    assert (shown.layer, shown.head, shown.rows, shown.sentences) == (0, 1, 10, 2)
    assert shown.share == pytest.approx(0.75 + 0.25 / 8, abs=1e-4) and shown.passes
    assert shown.everyone == pytest.approx((shown.share + 1 / 8) / 2, abs=1e-4)
    assert [each.text for each in shown.examples] == sentences[::-1], "the best first"
    best = shown.examples[0]
    assert best.words and best.labels[best.looked_at] == sentences[1].split()[best.columns[0]] and best.labels[-1] == ""
    weights = view_of(traces[1], "encoder", words=True).weights[0, 1, best.rows[0]]
    np.testing.assert_allclose(best.weights, weights, atol=1e-4)
    assert not {each.task for each in found.exhibits} & {"negation", "comma", "verb"}, "no sentence has them"
    assert Gallery.from_json(found.to_json()) == found


def test_gallery_examples_of_decoder_heads_show_no_later_tokens(made_up_trace):
    trace = made_up_trace(["A"], ["ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht"])
    shown = next(each for each in gallery_of([trace], "a model").exhibits if each.task == "previous_german")
    example = shown.examples[0]
    assert not example.words, "a step reads one token and predicts one"
    assert len(example.labels) == example.rows[0] + 1 and example.labels[0] == ""
    assert sum(example.weights) == pytest.approx(1, abs=1e-3)


def test_lone_space_and_language_code_are_not_labelled_as_end_symbols(made_up_trace):
    trace = made_up_trace(["▁A", "▁", "▁dog"], ["Ein", "Hund"])
    code = Token(90, ">>deu<<", None, "language")
    tokens = (code, *trace.source_tokens[1:])
    lone = replace(tokens[1], text="▁", span=(1, 1))
    changed = replace(trace, source_tokens=(code, lone, *tokens[2:]))
    (rest,) = (each for each in gallery_of([changed], "a model").exhibits if each.task == "resting")
    assert rest.examples[0].labels[:2] == (">>deu<<", "▁") and rest.examples[0].labels[-1] == ""


def test_language_specific_task_applies_only_to_models_of_that_language(made_up_trace):
    trace = made_up_trace(["I", "do", "not", "sleep"], ["Ich", "schlafe", "nicht."])
    german = {each.task for each in gallery_of([trace], "a model").exhibits}
    french = Languages(language("en"), language("fr"))
    assert german - {each.task for each in gallery_of([trace], "a model", french).exhibits} == {"negation_german"}
    assert TASK["previous_german"].title_and_meaning(french)[0] == "The French word before"
    assert all("{" not in words for task in TASKS for words in task.title_and_meaning(french))


def test_gallery_without_traces_raises_an_error():
    with pytest.raises(ValueError, match="at least one"):
        gallery_of([], "a model")


def test_every_task_has_a_short_description():
    for task in TASKS:
        assert task.title and task.meaning.endswith(".") and len(task.meaning.split()) <= 40, task.name


def test_previous_token_head_does_not_count_as_a_negation_head(made_up_trace):
    """A negation head attends to "not" from both neighbouring words, a previous-token head only from the next word."""
    source = "We did not see the dog ."
    previous = np.eye(8)[[0, 0, 1, 2, 3, 4, 5, 6]]
    negation = np.eye(8)[[7, 2, 7, 2, 7, 7, 7, 7]]

    def found(*maps):
        trace = made_up_trace(source.split(), ["x"], encoder=np.array([maps]))
        return next(each for each in gallery_of([trace], "made up").exhibits if each.task == "negation")

    copied = found(previous, previous)
    assert (copied.share, copied.rule, copied.explained) == (0.5, "previous", 0.5) and not copied.passes
    special = found(previous, 0.5 * previous + 0.5 * negation)
    assert special.head == 1 and special.passes and special.share - special.explained > 0.4


def test_head_that_always_attends_to_the_end_symbol_is_not_a_sentence_ending_head(made_up_trace):
    resting = np.eye(4)[[3] * 4]
    trace = made_up_trace(["a", "b", "c"], ["x", "y", "z"], cross=np.array([[resting]]))
    ended = next(each for each in gallery_of([trace], "made up").exhibits if each.task == "finished")
    assert (ended.rule, ended.explained) == ("resting", 1.0) and not ended.passes
