import doctest

import pytest

import transformer
from transformer.running import translator
from transformer.values import cancellation, interventions, run, trace


def test_every_public_name_can_be_imported():
    for name in transformer.__all__:
        assert getattr(transformer, name) is getattr(transformer, name)
        assert name in dir(transformer)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        transformer.Nothing  # noqa: B018


@pytest.mark.parametrize(
    "module", [transformer, cancellation, interventions, run, trace, translator], ids=lambda module: module.__name__
)
def test_docstring_examples_print_the_documented_output(module, shipped, monkeypatch):
    monkeypatch.setattr(translator.Translator, "load", lambda: shipped)
    result = doctest.testmod(module)
    assert result.attempted > 0 and result.failed == 0
