"""What a session keeps of a page: Streamlit holds it for two minutes after somebody has left, of up to 128 of them."""

from __future__ import annotations

import gc
from types import FunctionType, ModuleType
from typing import Any

import pytest
from streamlit.runtime import Runtime
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.state.common import WidgetMetadata

from pages.ui.runs.inference import RUNS
from tests.ui.driver import expand, healthy, opened
from transformer.values.trace import Trace

TEXT = "The old man gave his dog a bone."


def reachable(root: object) -> list[object]:
    """Everything that an object refers to, functions by what they close over, up to classes, modules and the runs that
    all sessions share."""
    seen: dict[int, object] = {}
    waiting = [root]
    while waiting:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, ModuleType | type | Runtime) or each is RUNS:
            continue
        seen[id(each)] = each
        waiting += (each.__closure__ or (), each.__defaults__) if isinstance(each, FunctionType) else (
            gc.get_referents(each)
        )
    return list(seen.values())


@pytest.mark.parametrize(("page", "address"), [
    ("translate", {}), ("encoder_attention", {}), ("cross_attention", {"target": "Der Hund."}),
    ("decoding", {"method": "beam"}), ("switch_heads_off", {"off_heads": "cross.1.8"}), ("change_attention", {}),
    ("what_mattered", {"mattered_part": "sides"}), ("language_model", {}), ("language_model", {"lm_part": "steps"}),
    ("compare_heads", {}), ("inside_a_layer", {}),
], ids=str)
def test_no_trace_is_kept_by_a_session(narrow_app, monkeypatch, page, address):
    """Neither for what is called back nor for what somebody may download."""
    managers: list[Any] = []
    begin = MediaFileManager.__init__
    monkeypatch.setattr(
        MediaFileManager, "__init__", lambda self, *given: (managers.append(self), begin(self, *given))[1]
    )
    test = opened(f"pages/{page}.py", text=TEXT, **address)
    expand(test)
    assert healthy(test)
    kept = reachable([test.session_state, [manager._deferred_callables for manager in managers]])
    assert any(isinstance(each, WidgetMetadata) for each in kept)
    assert not [each for each in kept if isinstance(each, Trace)]
