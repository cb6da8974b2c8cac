import re

import numpy as np
import pytest
import torch

from pages.ui.runs.inference import CachedRuns
from tests.unit.lessons.test_lesson import TEXT
from transformer.ablation.importance import concatenated_heads, head_importance
from transformer.ablation.removal import least_important_first, without_heads
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.checkpoints.learning_curve import FIELDS
from transformer.commands.lessons import main
from transformer.errors import LessonError
from transformer.lessons.claims import measure_claim
from transformer.lessons.claims.attribution import compare_words
from transformer.lessons.claims.runs import NO_MASK
from transformer.lessons.evidence import Evidence
from transformer.lessons.folders import SHIPPED_FOLDER
from transformer.lessons.lesson import lesson_of
from transformer.lessons.result import broken_claims
from transformer.model.transformer import build
from transformer.running.remembered_runs import RememberedRuns
from transformer.running.runs.trace import TraceRun
from transformer.running.translator import Translator
from transformer.values.interventions import AS_TRAINED, Interventions

TEXT_READ = "I have a dream."


@pytest.fixture(scope="module")
def known(copying_translator):
    """Evidence from a model in which every encoder row attends to the next position."""
    return Evidence(copying_translator, TEXT_READ)


@pytest.fixture(scope="module")
def evidence(shipped):
    return Evidence(CachedRuns(shipped), TEXT_READ)


@pytest.fixture(scope="module")
def importance(shipped):
    """Return the importance of every head as the app displays it, computed without lesson code."""
    return head_importance(shipped, TEXT_READ)


def test_lesson_can_name_a_head_by_its_task_a_word_pair_or_its_number(known, evidence):
    assert known.head("encoder", "next") == (0, 0)
    layer, head = evidence.head("encoder", "I -> dream")
    weights = evidence.view("encoder").weights
    row, column = evidence.row("encoder", "I", (0, 0)), evidence.column("encoder", "dream")
    assert weights[layer, head, row, column] == weights[:, :, row, column].max()
    assert evidence.head("encoder", "2.3") == (1, 2)


def test_masked_cell_counts_match_the_displayed_map(shipped):
    # Some words of the translation have several tokens, which the displayed map merges.
    evidence = Evidence(shipped, "She closed her eyes and counted to ten.")
    mask = evidence.view("decoder").mask
    assert len(mask) < len(evidence.trace().decoder_mask)
    finding = measure_claim("masked_cells", {}, evidence)
    assert finding.holds and finding.values["steps"] == len(mask) == mask.shape[1]
    assert finding.values["masked"] == (~mask).sum() and finding.values["cells"] == mask.size


def test_false_lesson_claim_is_reported_as_false(known):
    assert not measure_claim("job", {"kind": "encoder", "job": "previous"}, known).holds
    # Every head attends to the next token, so no head exceeds the average.
    assert measure_claim("job", {"kind": "encoder", "job": "next"}, known).values["average"] == pytest.approx(
        measure_claim("job", {"kind": "encoder", "job": "next"}, known).values["share"]
    )


def test_claim_computes_the_softmax_of_two_scores():
    finding = measure_claim("softmax_of_two", {"score": 112, "other": 96, "width": 64}, None)
    assert finding.values["first"] == pytest.approx(np.exp(2) / (1 + np.exp(2))) and finding.values["root"] == 8


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        (
            "row_sum",
            {"kind": "encoder", "head": "next", "row": "cat"},
            "no word 'cat' in “I have a dream.”; its words are",
        ),
        (
            "row_sum",
            {"kind": "encoder", "head": "boss", "row": "have"},
            "does not select a head; use one of these rules: previous",
        ),
        ("row_sum", {"kind": "encoder", "head": "a" + " " * 500_000 + "b", "row": "have"}, "does not select a head"),
        ("row_sum", {"kind": "encoder", "head": "99.1", "row": "have"}, "no head '99.1': this model has"),
        ("row_sum", {"kind": "decoder", "head": "same", "row": "77"}, "no step '77'"),
        ("row_sum", {"kind": "decoder", "head": "same", "row": "٣"}, "no step '٣'"),
        ("row_sum", {"kind": "cross", "head": "I -> have", "row": "have"}, "only in the encoder"),
        ("asymmetry", {"kind": "decoder", "head": "same", "one": "I", "other": "have"}, "cannot name words of"),
        (
            "asymmetry",
            {"kind": "cross", "head": "end", "one": "I", "other": "dream"},
            "no two words look at each other: set kind to encoder",
        ),
        ("job", {"kind": "cross", "job": "next"}, "have no metric 'next'"),
        ("likeliest", {"step": 99}, "no step 99"),
        ("softmax_of_two", {"score": 1, "other": 2, "width": 0}, "at least 1"),
        ("beam_against_greedy", {"beam_size": 99}, "beam_size must be 1 to 10"),
        ("sampled", {"temperature": 1.0, "count": 10_000, "least": 1, "most": 2}, "count must be from 1 to 20"),
        ("weight_against_norm", {"kind": "encoder", "job": "next"}, "must be 'end' or 'start'"),
        ("loss_at_start", {"vocabulary": -5}, "vocabulary is -5: use a positive number"),
        ("learned_early", {"share": 2}, "between 0 and 1"),
        ("heads_removed", {"count": 0}, "count must be from 1 to 72 (half of the heads), not 0"),
        ("clear_and_hardly_needed", {"kind": "encoder", "job": "1.1"}, "there is no head job '1.1'; choose one of: "),
    ],
)
def test_unmeasurable_claim_raises_an_error(evidence, name, parameters, message):
    with pytest.raises(LessonError) as refused:
        measure_claim(name, parameters, evidence)
    assert message in str(refused.value)


@pytest.mark.thorough
def test_head_importance_in_lessons_matches_the_page(evidence, importance):
    changes = concatenated_heads(importance.measured)
    np.testing.assert_allclose(evidence.head_changes(), changes, atol=1e-5)
    values = measure_claim("head_worth", {}, evidence).values
    assert values["change"] == pytest.approx(changes.min(), abs=1e-5) and values["likelier"] == (changes > 0).sum()
    clear = measure_claim("clear_and_hardly_needed", {"kind": "decoder", "job": "start"}, evidence).values
    change = importance.measured["decoder"][clear["layer"] - 1, clear["head"] - 1]
    assert clear["change"] == pytest.approx(change, abs=1e-5) and clear["more"] == (changes < change).sum()


def test_claim_removes_heads_in_order_of_importance(evidence, importance, shipped):
    values = measure_claim("heads_removed", {"count": 10}, evidence).values
    order = least_important_first(shipped.config, importance.measured)
    assert values["before"] == shipped.trace(TEXT_READ).target_text
    assert values["least"] == shipped.trace(TEXT_READ, interventions=without_heads(order[:10])).target_text
    assert values["most"] == shipped.trace(TEXT_READ, interventions=without_heads(order[-10:])).target_text


def test_lesson_claims_that_cannot_be_measured_are_listed_with_their_steps(copying_translator):
    assert broken_claims(lesson_of("one", TEXT), copying_translator) == []
    far = TEXT.replace('row = "have" }\nfigure', 'row = "cat" }\nfigure', 1)
    (broken,) = broken_claims(lesson_of("one", far), copying_translator)
    assert broken.startswith("step 1, claim row_sum: there is no word 'cat'")
    long = TEXT.replace("I have a dream.", "I have a dream. " * 60)
    broken = broken_claims(lesson_of("one", long), copying_translator)
    assert len(broken) == 3 and "the limit is 128" in broken[0]


def made(config, tokenizer, curve="", scale=1):
    """Return evidence from an untrained model. A larger `scale` of its embedding makes its predictions more certain."""
    torch.manual_seed(0)
    model = build(config).eval().requires_grad_(False)
    model.get_parameter("source_embedding.weight").mul_(scale)
    return Evidence(Translator(Checkpoint(model, tokenizer, curve=curve), device="cpu", version="x"), "A dog.")


def test_claims_measure_any_finite_learning_curve_or_raise_a_lesson_error(small_config, tokenizer):
    """`check_curve` accepts these curves, so claims must measure them or raise a LessonError."""

    def learned(claim, *rows):
        lines = [f"{step},0.1,9.0,{loss},{loss},{chrf},1.5,1e-4,900" for step, loss, chrf in rows]
        return measure_claim(claim, {}, made(small_config, tokenizer, "\n".join([",".join(FIELDS), *lines])))

    found = learned("learned_early", ("2.5e1", 9.0, 30.0), ("1e2", 4.0, 40.0))
    assert found.values["steps"] == 100 and found.values["fraction"] == 1
    assert learned("learned_early", (0, 9.0, 30.0)).values["fraction"] == 0
    with pytest.raises(LessonError, match="no chrF above 0"):
        learned("learned_early", (25, 9.0, -3.0), (50, 4.0, -2.0))
    with pytest.raises(LessonError, match=r"a loss of 1e\+06 nats per token: training diverged"):
        learned("loss_fell", (25, 9.0, 3.0), (50, 1e6, 3.0))


def test_lesson_claims_accept_a_translation_whose_probability_underflows_to_zero(small_config, tokenizer):
    """In the past, the probability with the mask was divided by the probability without it, which is 0 here."""
    evidence = made(small_config, tokenizer, scale=9)
    values = measure_claim("future_disturbs", {}, evidence).values
    before, after = (evidence.trace(interventions=each).log_probs.sum(dtype=float) for each in (AS_TRAINED, NO_MASK))
    assert after < -750 and values["before"] > 0 == values["after"]
    assert values["times"] == pytest.approx(np.exp(before - after), rel=1e-3)
    assert values["direction"] == "less likely"


def test_repeated_model_run_is_computed_only_once(small_translator):
    runs = RememberedRuns(small_translator)
    first = runs.get(TraceRun(TEXT_READ))
    assert runs.get(TraceRun(TEXT_READ)) is first and first.target_text == small_translator.trace(TEXT_READ).target_text
    others = [
        runs.get(run)
        for run in (
            TraceRun(TEXT_READ, details=True),
            TraceRun(TEXT_READ, interventions=NO_MASK),
            TraceRun("A dog."),
            TraceRun(TEXT_READ, first.target_text),
        )
    ]
    assert len({id(trace) for trace in [first, *others]}) == 5
    np.testing.assert_array_equal(others[1].decoder, small_translator.trace(TEXT_READ, interventions=NO_MASK).decoder)


@pytest.mark.thorough
def test_lessons_command_checks_lessons_and_lists_claims(run_main, tmp_path):
    done = run_main(main, "check", SHIPPED_FOLDER / "02_one_row.toml", "--device", "cpu")
    assert done.returncode == 0 and done.stdout == (
        "02_one_row.toml: 4 steps; every claim holds, and every value appears in its figure\n"
    )
    text = (SHIPPED_FOLDER / "02_one_row.toml").read_text(encoding="utf-8")
    (tmp_path / "mine.toml").write_text(re.sub("carried_by = .*", "", text), encoding="utf-8")
    done = run_main(main, "check", tmp_path / "mine.toml", "--device", "cpu")
    assert done.returncode == 1 and "step 2, figure map: " in done.stderr
    assert "add to carried_by where the figure shows sum, for example sum = 'sum" in done.stderr, "a lesson of before"
    (tmp_path / "mine.toml").write_text("title = 1", encoding="utf-8")
    done = run_main(main, "check", tmp_path / "mine.toml")
    assert done.returncode == 1 and done.stderr.startswith("error: mine.toml: the lesson: sentence is missing")
    (tmp_path / "folder.toml").mkdir()
    for name, message in (
        ("none.toml", "none.toml: the file cannot be read: No such file or directory"),
        ("folder.toml", "folder.toml: the file cannot be read: Is a directory"),
    ):
        done = run_main(main, "check", tmp_path / name)
        assert done.returncode == 1 and done.stderr == f"error: {message}\n"
    done = run_main(main, "claims")
    assert "row_maximum\n  The largest weight in a row" in done.stdout


def test_needed_word_of_a_lesson_is_the_source_word_whose_erasure_costs_most_probability(evidence, shipped):
    """A German word needs the English word whose erasure makes the German word least likely."""
    found = compare_words(evidence.for_sentence("The animal didn't cross the street because it was too tired."))
    trace = shipped.trace("The animal didn't cross the street because it was too tired.")
    (negation,) = (one for one in found if one.needed == "didn't")
    at = [token.text for token in trace.predicted_tokens].index("▁nicht")
    start = trace.source_text.index("didn't")
    word = [
        at
        for at, token in enumerate(trace.source_tokens)
        if token.span and start <= token.span[0] < start + len("didn't")
    ]
    hidden = shipped.trace(trace.source_text, trace.target_text, interventions=Interventions(hidden_source=word))
    assert negation.word == "nicht" and negation.probability == pytest.approx(np.exp(trace.log_probs[at]), rel=1e-4)
    assert negation.needed_cost == pytest.approx(trace.log_probs[at] - hidden.log_probs[at], abs=1e-3)


def test_claim_that_attended_and_needed_words_differ_is_false_if_the_words_are_the_same(evidence):
    finding = measure_claim("looked_at_and_needed", {}, evidence.for_sentence("I never eat meat."))
    assert not finding.holds and finding.values["same"] == finding.values["words"] == 4
