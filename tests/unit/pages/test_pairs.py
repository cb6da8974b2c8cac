import pytest

from pages.ui.reading.pairs import (
    PAIRS,
    Pair,
    describe_differences,
    describe_looks,
    describe_translations,
    largest_differences,
    translation_of,
)
from transformer.analysis.heads.similarity import jensen_shannon
from transformer.analysis.view import view_of


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_sentences_of_a_pair_differ_in_one_word_and_contain_the_compared_word(pair):
    a, b = pair.a.split(), pair.b.split()
    assert len(a) == len(b) and sum(one != other for one, other in zip(a, b, strict=True)) == 1
    assert all(pair.word in [word.strip(".,") for word in words] for words in (a, b))


def test_translations_are_compared_word_by_word():
    assert describe_differences("Ich bin da.", "Ich bin da.") == "Both sentences have the same translation."
    assert "**müde** / **breit**" in describe_differences("weil es müde war.", "weil es breit war.")
    assert "**—** / **sehr**" in describe_differences("Es ist da.", "Es ist sehr da.")
    assert r"\*" in describe_differences("a *x* b", "a y b"), "shown as itself"


@pytest.fixture
def made_up_pair(small_translator):
    return small_translator.trace("The old dog"), small_translator.trace("The old cat")


def test_heads_whose_attention_differs_most_are_listed_first(made_up_pair):
    listed = largest_differences(*made_up_pair)
    assert listed and [each.nats for each in listed] == sorted((each.nats for each in listed), reverse=True)
    for each in listed:
        rows = [view_of(trace, each.kind, words=True).weights[each.layer, each.head] for trace in made_up_pair]
        assert each.nats == pytest.approx(jensen_shannon(*(row.astype(float) for row in rows)).mean(), abs=1e-6)
    assert largest_differences(made_up_pair[0], made_up_pair[0]) == []


def test_head_comparison_excludes_maps_of_different_sizes(small_translator):
    listed = largest_differences(small_translator.trace("A dog"), small_translator.trace("A very old dog"))
    assert "encoder" not in {each.kind for each in listed}


def test_translation_of_a_word_is_found_by_mean_cross_attention(shipped):
    trace = shipped.trace("I have a dream.")
    assert translation_of(trace, "dream") == "Traum"
    assert translation_of(trace, "nightmare") is None


def test_page_states_whether_the_translation_resolves_an_ambiguous_word(shipped):
    same = shipped.trace("I have a dream.")
    said = describe_translations(Pair("x", "", "", "dream"), same, same)
    assert "**Traum** in both sentences" in said and "does not show" in said
    assert "no translation of *cat*" in describe_translations(Pair("x", "", "", "cat"), same, same)
    other = shipped.trace("You have a dream.")
    first, second = (translation_of(trace, "have") for trace in (same, other))
    said = describe_translations(Pair("x", "", "", "have"), same, other)
    assert first != second and f"**{first}** in A and **{second}** in B" in said


def test_page_states_the_strongest_weight_of_a_word_in_both_sentences(shipped):
    pair = PAIRS[0]
    views = {name: view_of(shipped.trace(text), "encoder", words=True) for name, text in (("a", pair.a), ("b", pair.b))}
    said = describe_looks("it", views, 5, 0)
    for view in views.values():
        assert f"({view.weights[5, 0, pair.a.split().index('it')].max():.2f})" in said
    assert describe_looks("nowhere", views, 5, 0) == ""
