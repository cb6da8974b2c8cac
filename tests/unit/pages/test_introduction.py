import pytest

from pages.ui.language_model.introduction import TEXTS
from transformer.checkpoints.model_texts import read_card
from transformer.files.paths import LANGUAGE_MODEL


def test_shipped_model_card_states_the_number_of_training_texts():
    found = TEXTS.search(read_card(LANGUAGE_MODEL))
    assert found and int(found[1].replace(",", "")) > 100_000


@pytest.mark.parametrize(
    "card", ["", "1 different texts", "1" * 500_000, "1" * 500_000 + " different texts"], ids=range(4)
)
def test_number_of_training_texts_is_none_if_the_model_card_does_not_state_it(card):
    assert TEXTS.search(card) is None
