import math
import re

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.params.what_mattered import WHOLE
from pages.ui.text.number_format import typeset
from tests.ui.driver import GIVEN, chooser, expand, figures, healthy, opened, same_numbers, submit, table, texts
from transformer.analysis.words import word_groups
from transformer.attribution.attribution import METHODS, Target
from transformer.values.decoding_settings import DecodingSettings

PAGE = "pages/what_mattered.py"
TIRED = "The animal didn't cross the street because it was too tired."
# The sentence has a word of several tokens. A translation is given, because the narrow model's own translation is long
# and meaningless.
SHORT = {"text": "I like marmalade.", "target": "Ich mag Marmelade."}
LONG = "The old man gave his dog a bone yesterday. " * 6


def app(**address: str) -> AppTest:
    return opened(PAGE, **{"text": TIRED, **address})


def rows(test: AppTest, **chosen: object) -> list[float]:
    """Return the scores in the table rows that have the given values."""
    numbers = table(test, "method", "side", "score")
    for column, value in chosen.items():
        numbers = numbers[numbers[column] == value]
    return numbers.score.tolist()


@pytest.fixture(scope="module")
def trace(shipped):
    return shipped.trace(TIRED, details=True)


def test_displayed_attributions_match_the_library(shipped, trace):
    test = app(mattered_explained="9")
    assert healthy(test) and test.button_group("mattered_word").value == "9"
    titles = {"frozen_gradient": "Frozen gradient", "erasure": "Erasure", "weights": "Attention weights"}
    for method, title in titles.items():
        found = shipped.attribute(trace, method, [Target((8,))], words=True)
        same_numbers(rows(test, method=title, side="English"), found.source[0])
    exact = shipped.attribute(trace, "frozen_gradient", [Target((8,))])
    total = table(test, "total").set_index("method").loc["Frozen gradient", "total"]
    assert total == pytest.approx(exact.total[0], abs=1e-3)


def test_attention_and_erasure_name_different_causes_of_the_default_word(shipped, trace):
    test = app(mattered_part="writers")
    assert healthy(test)
    asked = int(test.button_group("mattered_word").value) - 1
    weights, erasure = (shipped.attribute(trace, method, words=True).source[asked] for method in ("weights", "erasure"))
    assert weights.argmax() != erasure.argmax()


@pytest.mark.thorough
def test_selected_word_and_choice_of_tokens_or_words_are_stored_in_the_url(narrow_app):
    test = app(**SHORT)
    test.button_group("mattered_word").set_value("2").run()
    assert healthy(test) and test.query_params["mattered_explained"] == "2" and "**mag**" in texts(test)
    test.button_group("mattered_word").set_value(WHOLE).run()
    assert healthy(test) and test.query_params["mattered_explained"] == WHOLE
    test.button_group("mattered_word").set_value(None).run()
    assert healthy(test) and test.query_params["mattered_explained"] == WHOLE, "one of them is always chosen"
    test.toggle("mattered_tokens").set_value(True).run()
    assert healthy(test) and test.query_params["mattered_tokens"] == "true"
    trace = narrow_app.trace(**SHORT)
    tokens, words = trace.source_tokens, word_groups(trace.source_tokens, trace.source_text)
    assert len(rows(test, method="Rollout", side="English")) == len(tokens) > len(words)
    submit(test, "Yes.")
    assert healthy(test) and "mattered_explained" not in test.query_params


@pytest.mark.thorough
def test_contrast_word_is_stored_in_the_url_until_another_word_is_selected(shipped, trace):
    test = app(mattered_explained="9")
    other = int(trace.candidate_ids[8][1])
    chooser(test, "mattered_other").set_value(other).run()
    assert healthy(test) and test.query_params["mattered_against"] == str(other)
    found = shipped.attribute(trace, "frozen_gradient", [Target((8,), (other,))], words=True)
    same_numbers(rows(test, method="Frozen gradient", side="English"), found.source[0])
    numbers = table(test, "method", "side", "score")
    contrastive = {method.title for method in METHODS.values() if method.contrastive}
    assert set(numbers.method) == contrastive
    assert "and not" in texts(test) and "give every candidate the same scores" in texts(test)
    test.segmented_control("mattered_part").set_value("agreement").run()
    assert healthy(test) and f"Of {math.comb(len(contrastive), 2)} pairs of methods" in texts(test)
    test.segmented_control("mattered_part").set_value("writers").run()
    assert healthy(test) and "difference between the logits" in texts(test)
    test.button_group("mattered_word").set_value("2").run()
    assert "mattered_against" not in test.query_params, "a candidate belongs to its word"


def test_button_opens_the_comparison_of_attribution_methods(narrow_app):
    test = opened(PAGE, **SHORT)
    test.button("mattered_agree").click().run()
    assert healthy(test) and test.query_params["mattered_part"] == "agreement"


def test_components_add_up_to_the_logit_and_the_largest_head_is_a_link():
    test = app(mattered_part="writers", mattered_explained="9", mattered_components="true")
    numbers = table(test, "component", "score")
    assert healthy(test) and len(numbers) == 118
    assert f"**{typeset(numbers.score.sum())}**" in texts(test)
    heads = numbers[numbers.component.str.contains("head")]
    largest = heads.component[heads.score.abs().idxmax()]
    labels = [each.label for each in test.button]
    layer, head = (part.split()[-1] for part in largest.split(", ")[1:])
    assert any(label.startswith(f"Open layer {layer}, head {head} of") for label in labels)


def test_effect_of_deleting_words_is_measured_on_demand(narrow_app):
    test = app(**SHORT, mattered_part="agreement", mattered_explained="2", mattered_method="rollout")
    assert healthy(test) and not any("most important first" in each.value.columns for each in expand(test).dataframe)
    # There is only one chart, because the agreement over many sentences is recorded only for the shipped model.
    assert figures(test) == (0, 1)
    test.toggle("mattered_deletion").set_value(True).run()
    assert healthy(test) and figures(test) == (0, 2)
    areas = table(test, "most important first")
    assert len(areas) == len(METHODS) and "for the ranking of **Rollout**" in texts(test)
    trace = narrow_app.trace(**SHORT)
    words = len(word_groups(trace.source_tokens, trace.source_text)) - 1
    assert f"the ranking of the {words} words more than" in texts(test)


def test_page_shows_the_recorded_agreement_over_many_sentences():
    test = app(mattered_part="agreement", mattered_explained="9")
    numbers = table(test, "tau", "from", "to")
    assert healthy(test) and len(numbers) == len(set(numbers.method)) ** 2
    assert ((numbers["from"] <= numbers["tau"]) & (numbers["tau"] <= numbers["to"])).all()
    assert "Closest to the ranking by erasure is" in texts(test) and "one word is drawn at random" in texts(test)


@pytest.mark.thorough
def test_user_can_replace_the_start_of_a_translation_and_restore_the_model_translation(shipped):
    test = app(mattered_part="sides")
    before = table(test, "share")
    test.selectbox("mattered_beginning").set_value("Die Musik").run()
    test.button("mattered_force").click().run()
    forced = shipped.tokenizer.encode_ids("Die Musik")[:-1]
    written = shipped.translate(TIRED, DecodingSettings(), prefix=forced).text
    assert healthy(test) and written.startswith("Die Musik")
    assert test.query_params["target"] == written
    assert "The translation now reads" in texts(test) and not table(test, "share").equals(before)
    next(each for each in test.button if each.label == "Back to the model's translation").click().run()
    assert healthy(test) and table(test, "share").equals(before)


@pytest.mark.thorough
def test_guessing_game_reveals_the_measured_scores_after_a_guess(shipped, trace):
    test = app(mattered_part="guess")
    assert healthy(test) and not expand(test).dataframe
    assert next(each.label for each in test.button if each.key == "bet_choice_2") == "animal"
    test.button("bet_choice_2").click().run()
    assert healthy(test) and figures(test) == (0, 1)
    assert test.query_params["bet_page"] == "what_mattered" and test.query_params["bet_answer"] == "2"
    assert re.search(r"\*\*(Right|Close|Wrong)\.\*\*", texts(test))
    answers = table(test, "named by").set_index("word")
    assert "you" in answers.loc["animal", "named by"]
    target = Target(tuple(range(len(trace.predicted_tokens))))
    measured = shipped.attribute(trace, "erasure", [target], words=True).source[0]
    assert answers.loc["animal", "hidden: falls by, nats"] == pytest.approx(measured[1])
    typed = shipped.trace(TIRED.replace("animal ", ""), trace.target_text)
    fall = float(trace.log_probs.sum() - typed.log_probs.sum())
    assert answers.loc["animal", "typed: falls by, nats"] == pytest.approx(fall, abs=1e-4)


@pytest.mark.thorough
def test_slow_computations_for_a_long_sentence_run_on_demand(narrow_app):
    test = opened(PAGE, text=LONG, **GIVEN)
    assert healthy(test)
    assert "Erasure" not in set(table(test, "method", "side", "score").method)
    test.toggle("mattered_slow").set_value(True).run()
    assert healthy(test) and "Erasure" in set(table(test, "method", "side", "score").method)
