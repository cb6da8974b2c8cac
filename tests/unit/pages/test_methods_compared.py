from dataclasses import replace

from pages.ui.decoding.methods_compared import comparison
from transformer.values.decoding_settings import DecodingSettings

TEXT = "I have a dream."


def test_table_of_decoding_methods_does_not_depend_on_timings(small_translator):
    """The first call in a process is the slowest, so greedy decoding, which comes first, used to look slow."""
    settings = {"greedy": DecodingSettings(), "beam 2": DecodingSettings("beam", beam_size=2)}
    found = {name: small_translator.translate(TEXT, each) for name, each in settings.items()}
    slow = {name: replace(each, seconds=each.seconds + 5) for name, each in found.items()}
    assert all(each.seconds > 0 for each in found.values())
    table = comparison(found, "German")
    assert table.equals(comparison(slow, "German"))
    assert table["method"].tolist() == list(settings) and table["hypotheses"].tolist() == [1, 2]
