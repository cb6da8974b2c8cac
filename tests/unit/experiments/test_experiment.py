import json
from dataclasses import replace

import pytest

import transformer.experiments as _runs  # noqa: F401
from transformer.ablation.continuation import ContinuationRun, RereadRun
from transformer.ablation.effect import EffectRun
from transformer.ablation.importance import ImportanceRun
from transformer.ablation.patching import GridRun, PatchRun, question_of
from transformer.ablation.removal import RemovalRun
from transformer.attribution.attribution import METHODS, Target
from transformer.commands.verify import DIFFERENT, NOT_POSSIBLE, SAME, main
from transformer.errors import AtlasError, ExperimentError, InterventionError
from transformer.experiments.checking import check, check_model
from transformer.experiments.experiment import MAX_BYTES, ClaimedRun, Experiment
from transformer.lessons.finding_run import FindingRun
from transformer.running.remembered_runs import RememberedRuns
from transformer.running.runs.attribution import AttributionRun, DeletionRun, DirectLogitsRun
from transformer.running.runs.graph import GraphRun, PathEffectsRun, ScorePairsRun
from transformer.running.runs.trace import TraceRun
from transformer.values.interventions import Interventions
from transformer.values.run import Run

READ = TraceRun("The doctor lost her keys.", details=True)
OTHER = "The doctor lost his keys."
OFF = Interventions(gates={("cross", 0, 7): 0.0, ("encoder", 1, 2): 0.5})
THIRD = Target((2,))


@pytest.fixture(scope="module")
def runs(shipped):
    """Return at least one run of every type that reports numbers."""
    a = shipped.get(READ)
    b = shipped.get(replace(READ, text=OTHER, target=tuple(token.id for token in a.predicted_tokens)))
    question, graph = question_of(a, b), GraphRun(READ, THIRD)
    plain = TraceRun(READ.text)
    return [
        PatchRun(question, ((("encoder.residual", 5, 0, 3), 3),)),
        GridRun(question, "cross.outputs"),
        graph,
        PathEffectsRun(READ, THIRD, shipped.get(graph).paths([0, 1])),
        ScorePairsRun(READ, "cross", 2, 3, 2, 2),
        EffectRun(plain, OFF),
        EffectRun(plain, Interventions(gates={("cross", 0, 7): 0.0}, mode="resample", seed=3), 2),
        ContinuationRun(RereadRun(READ, OFF), 3),
        DirectLogitsRun(READ, THIRD),
        *(AttributionRun(plain, method, (THIRD,), True) for method in METHODS),
        DeletionRun(AttributionRun(plain, "weights", (THIRD,), True), (0, 2)),
        FindingRun(READ.text, "changed_word_decides", (("other", OTHER),)),
        ImportanceRun(plain, "zero"),
        RemovalRun(ImportanceRun(plain, "zero"), 1),
    ]


def made(shipped, *runs: Run) -> Experiment:
    parts = tuple(ClaimedRun.of(type(run).__name__, run, shipped.get(run)) for run in runs)
    return Experiment(shipped.version, "en-de", "patch?text=A", parts)


def test_tests_cover_every_run_type_that_reports_numbers(runs):
    states = {kind for kind in Run.KINDS.values() if kind.states is not Run.states}
    assert {type(run) for run in runs} == states


# This test is slow, because two of the runs switch off every head of the model in turn.
@pytest.mark.thorough(seconds=13)
def test_repeating_a_saved_run_gives_the_same_numbers(shipped, runs):
    for run in runs:
        saved = made(shipped, run)
        report = check(Experiment.read(saved.to_json().encode()), RememberedRuns(shipped))
        assert str(report).endswith(" recomputed results match to within 1e-05."), (run, report)


def test_every_run_type_survives_saving_to_an_experiment_file(shipped, runs):
    experiment = Experiment("a model", "en-de", "", tuple(ClaimedRun("", run, {}) for run in runs))
    assert Experiment.read(experiment.to_json().encode()) == experiment


@pytest.fixture(scope="module")
def saved(shipped, runs):
    return made(shipped, *runs[:2], runs[7])


def changed(saved: Experiment, change) -> bytes:
    values = json.loads(saved.to_json())
    change(values)
    return json.dumps(values).encode()


def claim(part: int, name: str, value: object):
    return lambda values: values["parts"][part]["claims"][name].update(value=value)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (claim(0, "effect", [0.25]), "PatchRun, effect, number 1: claimed 0.25, measured "),
        (claim(0, "effect", [0.25, 1.0]), "PatchRun, effect: claimed 2 numbers, measured 1 numbers."),
        (claim(0, "effect", "much"), "PatchRun, effect: claimed “much”, measured “["),
        (claim(0, "other run", None), ""),
        (claim(1, "patched", [[0.0] * 8] * 6), "GridRun, patched, number 1 / 1: claimed 0, measured "),
        (claim(2, "translation", "Nein."), "ContinuationRun, translation: claimed “Nein.”, measured “"),
    ],
)
def test_verification_names_the_number_that_differs(shipped, saved, change, says):
    if not says:
        with pytest.raises(ExperimentError, match="damaged"):
            Experiment.read(changed(saved, change))
        return
    (differing,) = check(Experiment.read(changed(saved, change)), shipped).differing
    assert differing.startswith(says)


def test_verification_applies_and_reports_the_tolerance_stored_in_the_experiment_file(shipped, saved):
    def generous(values):
        found = values["parts"][0]["claims"]["unpatched"]
        found.update(value=found["value"] + 0.05, tolerance=0.1)

    assert str(check(Experiment.read(changed(saved, generous)), shipped)).endswith(" match to within 1e-01.")


@pytest.mark.parametrize("around", [b"<svg><metadata>%s</metadata></svg>", b"\x89PNG\r\n\x1a\n\0%s\0\xff"])
def test_saved_figure_contains_its_experiment(saved, around):
    assert Experiment.read(around % saved.embedded_text().encode()) == saved


@pytest.mark.parametrize("checksum", [b"A\0\0\0", b"=b\0\0", b"A+/=", b"AAAA"])
def test_checksum_after_an_embedded_experiment_is_ignored(saved, checksum):
    for page in ("", "patch?text=A", "patch?text=AB", "patch?text=ABC"):
        experiment = replace(saved, page=page)
        assert Experiment.read(experiment.embedded_text().encode() + checksum) == experiment


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "contains no experiment"),
        (b"<svg></svg>", "contains no experiment"),
        (b"<svg>attention-atlas-experiment:AAA</svg>", "damaged"),
        (b"attention-atlas-experiment:" + b"A" * 8, "damaged"),
        (b"\n".join(b"attention-atlas-experiment:%d" % each for each in range(1000, 1061)), "contains 61 experiments"),
        (b"{", "not an Attention Atlas experiment"),
        (b'{"sentence": "A"}', "not an Attention Atlas experiment"),
        (b'{"experiment": 2, "more": 1}', "newer|update Attention Atlas"),
        (b'{"experiment": 1}', "not an Attention Atlas experiment"),
        (b"{" + b"[" * 100_000, "not an Attention Atlas experiment"),
        (b"{" + b" " * MAX_BYTES, "larger than 256 kB"),
    ],
    ids=lambda value: str(value[:30]),
)
def test_file_without_a_valid_experiment_raises_an_error(content, message):
    with pytest.raises(ExperimentError, match=message):
        Experiment.read(content)


@pytest.mark.parametrize(
    "change",
    [
        lambda values: values.update(more=1),
        lambda values: values["parts"][0]["run"].update(run="_OfTrace"),
        lambda values: values["parts"][0]["run"].update(run=["PatchRun"]),
        lambda values: values["parts"][0]["run"].update(more=1),
        lambda values: values["parts"][0]["claims"]["effect"].update(tolerance=-1),
        lambda values: values["parts"][0]["claims"]["effect"].update(value=[[1], [1, 2]]),
        lambda values: values["parts"][0]["claims"]["effect"].update(value=[{}]),
        lambda values: values["parts"].append({"label": "", "run": {"run": "GraphRun", "trace": 1}, "claims": {}}),
    ],
)
def test_invalidly_edited_experiment_file_raises_an_error(saved, change):
    with pytest.raises(ExperimentError, match="not an Attention Atlas experiment"):
        Experiment.read(changed(saved, change))


def test_experiment_with_an_invalid_intervention_raises_an_error(saved):
    def contradict(values):
        values["parts"][2]["run"]["read"]["interventions"]["gates"] = [[["cross", 0, 0], 7]]

    with pytest.raises(InterventionError, match="gate"):
        Experiment.read(changed(saved, contradict))


def test_experiment_file_that_requests_too_much_work_raises_an_error(saved):
    with pytest.raises(ExperimentError, match="has 51 runs; the limit is 50"):
        Experiment.read(replace(saved, parts=saved.parts[:1] * 51).to_json().encode())
    removal = ClaimedRun("", RemovalRun(ImportanceRun(READ, "zero"), 1), {})
    content = replace(saved, parts=(removal,)).to_json().replace('"orders": 1', '"orders": 1000000000')
    with pytest.raises(InterventionError, match="1,000,000,000: give 0 to 16"):
        Experiment.read(content.encode())


def test_experiment_with_an_unsupported_combination_of_runs_raises_an_error(shipped, saved):
    """Covers a nested run of the wrong type, a step out of range, a claim about another run's result, and no runs."""
    read = TraceRun("A dog.")
    for run in (
        GraphRun(ImportanceRun(read, "zero"), THIRD),
        PatchRun(replace(saved.parts[0].run.question, step=99), ()),
    ):
        with pytest.raises(AtlasError):
            check(replace(saved, parts=(ClaimedRun("", run, saved.parts[0].claims),)), RememberedRuns(shipped))
    with pytest.raises(ExperimentError, match="has no result “unpatched”"):
        check(replace(saved, parts=(replace(saved.parts[0], run=DirectLogitsRun(READ, THIRD)),)), shipped)
    with pytest.raises(ExperimentError, match="contains no claimed results"):
        check(replace(saved, parts=()), shipped)


def test_verification_with_a_different_model_names_both_models(saved):
    with pytest.raises(
        ExperimentError, match=r"made with the model en-de \(\w+\), but the loaded model is mine \(abc\): .*--model-dir"
    ):
        check_model(saved, "abc", "mine")


def changed_carried(saved):
    return Experiment.read(changed(saved, claim(0, "effect", [0.25]))).embedded_text()


def test_verify_command_prints_its_results_and_sets_its_exit_status(saved, tmp_path, capsys, monkeypatch, shipped):
    monkeypatch.setattr("transformer.running.translator.Translator.load", lambda *_: shipped)
    same, differs, other = (tmp_path / name for name in ("same.svg", "differs.json", "other.json"))
    same.write_text(f"<svg>{saved.embedded_text()}</svg>")
    differs.write_bytes(changed(saved, claim(0, "effect", [0.25])))
    other.write_text(replace(saved, model="abc").to_json())
    for files, status in (((same,), SAME), ((same, differs), DIFFERENT), ((differs, other, same), NOT_POSSIBLE)):
        with pytest.raises(SystemExit) as stopped:
            main([*map(str, files), "--device", "cpu"])
        assert stopped.value.code == status
    slides = tmp_path / "slides.txt"
    slides.write_text(f"patch?text=A\n# {saved.embedded_text()}\nabout?text=A\n# {changed_carried(saved)}\n")
    with pytest.raises(SystemExit) as stopped:
        main([str(slides), "--device", "cpu"])
    assert stopped.value.code == DIFFERENT
    said = capsys.readouterr()
    assert "slides.txt, experiment 1 of 2: All " in said.out
    assert "slides.txt, experiment 2 of 2: PatchRun, effect" in said.out
    assert "same.svg: All " in said.out and "differs.json: PatchRun, effect" in said.out
    assert "error: other.json: The experiment was made with the model en-de (abc)" in said.err
