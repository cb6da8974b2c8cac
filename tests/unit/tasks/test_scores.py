"""Tests of training-run events, and of head scores computed from attention for which the correct scores are known."""

from dataclasses import replace

import numpy as np
import pytest

from transformer.tasks.events import events, first_above
from transformer.tasks.scores import head_scores


def one_hot(rows, width):
    """Return attention [1, 1, 1, len(rows), width] in which row i has all its weight on column rows[i]."""
    return np.eye(width)[np.array(rows)][None, None, None]


def measured(encoder, decoder, cross):
    """Return head scores for copying "abcab" (ids 4 5 6 4 5); the source ends with id 3, and the target starts with id
    2.
    """
    source, target = np.array([[4, 5, 6, 4, 5, 3]]), np.array([[2, 4, 5, 6, 4, 5]])
    attention = {"encoder": one_hot(encoder, 6), "decoder": one_hot(decoder, 6), "cross": one_hot(cross, 6)}
    return {
        name: {kind: float(value[0, 0]) for kind, value in kinds.items()}
        for name, kinds in head_scores(attention, source, target, [(5, 5)]).items()
    }


def test_diagonal_attention_has_a_diagonal_score_of_one():
    found = measured([0, 1, 2, 3, 4, 0], [0, 1, 2, 3, 4, 0], [0, 1, 2, 3, 4, 0])
    assert found["diagonal"] == {"encoder": 1, "decoder": 1, "cross": 1}
    assert found["mirror"]["cross"] == pytest.approx(1 / 5), "the middle is its own mirror"
    assert found["entropy"] == {"encoder": 0, "decoder": 0, "cross": 0}


def test_mirrored_attention_has_a_mirror_score_of_one():
    found = measured([4, 3, 2, 1, 0, 5], [0] * 6, [4, 3, 2, 1, 0, 5])
    assert found["mirror"]["encoder"] == found["mirror"]["cross"] == 1
    assert np.isnan(found["mirror"]["decoder"]), "masked attention cannot look at what is not written"


def test_prefix_matching_attention_has_a_prefix_match_score_of_one():
    # The decoder's queries are <s> a b c a. The second a attends to index 2, the token after the first a. In the
    # encoder, a letter attends to the letter after its other occurrence. The first b has no such letter, because no
    # letter follows the second b.
    found = measured([4, 0, 0, 1, 2, 0], [0, 0, 0, 0, 2, 0], [0, 1, 2, 3, 4, 0])
    assert found["prefix_match"]["encoder"] == 1 and found["prefix_match"]["decoder"] == 1
    # In cross-attention, each letter attends to a source letter that follows the same letter: the first a to index 1,
    # b to index 2, c to index 3, and the second a to index 4.
    assert found["prefix_match"]["cross"] == 1


def test_entropy_of_uniform_attention_is_the_log_of_the_number_of_keys():
    even = {kind: np.full((1, 1, 2, 4, 4), 0.25) for kind in ("encoder", "decoder", "cross")}
    ids = np.array([[4, 5, 6, 3]])
    found = head_scores(even, ids, ids, [(3, 3)])
    np.testing.assert_allclose(found["entropy"]["cross"], np.log(4))
    assert found["entropy"]["cross"].shape == (1, 2)


def test_event_begins_at_the_step_from_which_a_score_stays_above_its_threshold():
    assert first_above([0.1, 0.8, 0.2, 0.7, 0.9], 0.7) == 3
    assert first_above([0.1, 0.2], 0.7) is None and first_above([], 0.7) is None
    assert first_above([0.1, np.nan, 0.9, np.nan], 0.7) is None


def test_training_events_are_derived_from_the_scores_of_the_snapshots(small_run):
    """In this invented training run, the mirror score of head 2 becomes high at the third snapshot and stays high."""

    def changed(number, snapshot):
        scores = {name: {kind: np.zeros((1, 2)) for kind in kinds} for name, kinds in snapshot.scores.items()}
        scores["mirror"]["cross"] = np.array([[0.9, 0.9 if number >= 2 else 0.1]])
        return replace(snapshot, scores=scores, exact_match=(0, 0.6, 0.4, 0.7, 0.995)[number])

    run = replace(small_run, snapshots=tuple(changed(*each) for each in enumerate(small_run.snapshots)))
    assert [event.text for event in events(run)] == [
        "cross head 2 becomes a mirror at step 6",
        "half of the held-out items are solved at step 9",
        "99% of the held-out items are solved at step 12",
    ], "the first head was one before it learned anything"
    assert (events(run)[0].kind, events(run)[0].layer, events(run)[0].head) == ("cross", 0, 1)


def test_delayed_generalisation_is_reported_as_grokking(small_run):
    steps = (0, 100, 1_200, 2_000, 3_000)
    run = replace(
        small_run,
        snapshots=tuple(
            replace(
                snapshot,
                step=step,
                training_match=float(index >= 1),
                exact_match=float(index >= 3),
                scores={name: {kind: np.zeros((1, 2)) for kind in kinds} for name, kinds in snapshot.scores.items()},
            )
            for index, (step, snapshot) in enumerate(zip(steps, small_run.snapshots, strict=True))
        ),
    )
    assert [event.text for event in events(run)] == [
        "99% of the training items are solved at step 100",
        "half of the held-out items are solved at step 2,000",
        "99% of the held-out items are solved at step 2,000",
        "grokking: the held-out items follow at step 2,000, 1,900 steps after the training items",
    ]
