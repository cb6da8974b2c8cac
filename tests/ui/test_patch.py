"""The Patch page, driven without a browser."""

from __future__ import annotations

import pytest

from pages.ui.params.state import EXAMPLES
from tests.ui.driver import healthy, opened, texts

PAGE = "pages/patch.py"


def plain(test):
    return texts(test).replace("\\", "").replace("−", "-")


def choose(test, label, value):
    box = next(each for each in test.selectbox if each.label == label)
    box.select(value).run()


@pytest.mark.thorough(seconds=10)
def test_a_newcomer_learns_that_wide_does_not_make_it_the_street(shipped):
    """The page opens where the two sentences differ; at the step that writes "es" there is nothing to divide."""
    test = opened(PAGE, text=EXAMPLES[0])
    assert healthy(test) and "A prefers **␣müde** to **␣breit**".replace("␣", "") in plain(test)
    assert "Is it needed? (noising)**" in plain(test) and "Effect **0.99**: A's choice comes back" in plain(test)
    # Depth 0 at the changed word is 1 by definition, so the page opens at the next depth.
    assert "residual stream, depth 1, " in plain(test)
    choose(test, "At the step that writes", 9)
    choose(
        test,
        "to",
        next(
            each
            for each in shipped.trace(EXAMPLES[0]).candidate_ids[8].tolist()
            if shipped.tokenizer.texts[each] == "▁sie"
        ),
    )
    assert healthy(test) and "A prefers **es** to **sie** by +2.92 nats, and B by +3.08" in plain(test)
    assert "differ by only 0.16 nats here" in plain(test) and "*it* becomes **es** both times" in plain(test)
    assert "No effect is shown" in plain(test) and "Effect **" not in plain(test)
    assert test.query_params["patch_step"] == "9"
    # The other direction, and a head.
    test.query_params.clear()
    test = opened(PAGE, text=EXAMPLES[0], patch_direction="enough", patch_site="cross.outputs", patch_layer="4")
    assert healthy(test) and "B runs, with cross-attention: heads' outputs, layer 4, head 1 taken from A" in plain(test)
