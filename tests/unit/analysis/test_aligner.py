import json

import numpy as np
import pytest

from transformer.analysis.aligner import Aligner, find_aligner
from transformer.analysis.heads.metrics import HeadMetrics
from transformer.analysis.heads.statistics import Statistics
from transformer.running.translator import MODEL


def metrics(predicted, read):
    values = {"alignment_predicted": np.array(predicted), "alignment_read": np.array(read)}
    return HeadMetrics("cross", values, {"alignment_predicted": 20, "alignment_read": 20})


def test_aligner_uses_the_layer_and_step_of_the_best_alignment_head():
    found = find_aligner(metrics([[0.1, 0.2, 0.6], [0.6, 0.7, 0.7]], [[0.72, 0.4, 0.77], [0.1, np.nan, 0.1]]))
    assert found == Aligner(layer=0, heads=(2, 0), step="read", agreement=0.77, tokens=20)


def test_model_whose_heads_align_too_few_tokens_has_no_aligner():
    assert find_aligner(metrics([[0.1, 0.5]], [[np.nan, 0.3]])) is None


def test_shipped_head_statistics_name_the_alignment_heads():
    text = (MODEL.parents[1] / "head_statistics.json").read_text(encoding="utf-8")
    found, written = Statistics.from_json(text).aligner, json.loads(text)["aligner"]
    assert found and found.agreement > 0.7
    assert written == {
        "layer": found.layer,
        "heads": list(found.heads),
        "step": found.step,
        "pieces": found.tokens,
        "agreement": pytest.approx(found.agreement),
    }
