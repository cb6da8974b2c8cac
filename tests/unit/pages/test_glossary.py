import ast
import json
import re
from collections import Counter
from pathlib import Path

import pytest

import transformer.values.trace
from attention_atlas.browser.scripts import script
from pages.ui.text.glossary import ARRAY, document, explain, explain_words_of, glossary

ROOT = Path(__file__).parents[3]
TERMS = [term for group in glossary().groups.values() for term in group]


def test_glossary_document_is_generated_from_the_glossary():
    written = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert written == document(), "run: python -m pages.ui.text.glossary > docs/glossary.md"


def test_glossary_explains_each_word_once():
    words = Counter(word.lower() for term in TERMS for word in (term.name, *term.also))
    assert words.most_common(1)[0][1] == 1


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_glossary_explanations_are_short_and_without_markup(term):
    assert term.text.endswith(".") and len(term.text.split()) <= 45
    # A browser tooltip would show markup literally.
    assert not re.search(r"[`*_$<>\[\]]", term.text)


def test_glossary_mentions_no_properties_of_a_single_model():
    """An imported model may have other languages and another vocabulary size."""
    for term in TERMS:
        assert not re.search(r"\b(English|German)\b|\d,\d{3}|this (one|model)", term.text), term.name


def test_glossary_gives_the_name_of_every_trace_array_in_other_libraries():
    described = [name for name, *_ in ARRAY.findall(transformer.values.trace.__doc__)]
    assert len(described) == 19
    assert [array.name for array in glossary().arrays] == described


def test_tooltip_shows_term_names_only_if_it_explains_several_terms():
    assert explain("token") == explain("subword")
    both = explain("nats", "token").split("\n\n")
    assert both == [f"**Nats:** {explain('nats')}", f"**Token:** {explain('token')}"]
    with pytest.raises(KeyError):
        explain("attention spam")


def test_technical_terms_in_a_title_are_explained():
    assert explain_words_of("queries of a head") == explain("head", "query")
    assert explain_words_of("token embedding, scaled") == explain("token", "token embedding")
    assert explain_words_of("the rest") is None


def test_every_term_that_a_page_explains_is_in_the_glossary():
    """A term that is missing from the glossary raises an error only when its part of the page is shown."""
    asked = set()
    for path in (ROOT / "pages").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "explain":
                asked |= {argument.value for argument in node.args if isinstance(argument, ast.Constant)}
    assert len(asked) > 10
    assert all(map(explain, asked))


@pytest.mark.parametrize("entry", ["attention_browser/attention_browser", "decoding_steps/decoding_steps"])
def test_component_script_includes_the_terms_that_it_explains(entry):
    source = script(entry)
    calls = (r'\bterm\("[^"]*"', r"\bexplained\(.*\)")
    used = {word for call in calls for word in re.findall(call + r', "([^"]+)"\)', source)}
    assert len(used) >= 4
    for word in used:
        assert f"{json.dumps(word)}: {json.dumps(explain(word))}" in source, "as the glossary has it"
