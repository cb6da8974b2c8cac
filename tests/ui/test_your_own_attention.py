"""Tests of attention from a file, on the pages "Your own attention" and "Compare heads", without a browser."""

import json

import numpy as np
import pytest

from pages.ui.params.pages import PAGES
from pages.ui.your_own_attention.files import FOLDER_VARIABLE
from tests.ui.driver import healthy, opened, texts

COMPARE, PAGE = "pages/compare_heads.py", "pages/your_own_attention.py"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    weights = np.full((2, 3, 4, 4), 0.25)
    weights[1, 2] = np.eye(4)[[1, 2, 1, 0]]
    tokens = ["[CLS]", "old", "##er", "[SEP]"]
    (tmp_path / "bert.json").write_text(json.dumps({"attention": weights.tolist(), "tokens": tokens}))
    (tmp_path / "broken.npz").write_bytes(b"no")
    return tmp_path


def test_attention_from_a_json_file_is_shown(folder):
    test = opened(PAGE, own_file="bert.json")
    assert healthy(test) and "This head mostly looks at" in texts(test)


def test_invalid_attention_file_causes_a_single_message(folder):
    test = opened(PAGE, own_file="broken.npz")
    (warning,) = test.warning
    assert "broken" in warning.value and not test.exception


@pytest.mark.parametrize("part", PAGES["compare_heads"].parts)
def test_compare_heads_page_shows_attention_from_a_file(folder, part):
    """Parts that need a model show a message instead."""
    test = opened(COMPARE, subject="own", own_file="bert.json", compare_part=part)
    assert healthy(test) and bool(test.info) == (part in ("two_heads", "models"))
