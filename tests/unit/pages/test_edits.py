from dataclasses import replace

import numpy as np
import pytest

from pages.ui.change_attention.change_lines import change_lines
from pages.ui.change_attention.example import FIRST, MAX_TRIED, SECOND, candidates, words_of
from pages.ui.change_attention.labels import edit_label, what_changed
from pages.ui.change_attention.next_word import describe_next, next_table, step_table
from pages.ui.change_attention.resolution import resolve, without_words
from pages.ui.params.change_attention import LEFT_OUT, MAX_EDITS, Edit, EditList, EditParams
from pages.ui.state.session import EXAMPLES
from pages.ui.text.differences import count_kept_words, merged_words
from transformer.ablation.continuation import continue_from, reread
from transformer.analysis.words import groups_of, merge_words, word_groups
from transformer.values.interventions import AS_TRAINED

TEXT, TARGET = "The old man reads a book.", "Der alte Mann liest ein Buch."
EDITS = {
    "encoder.2.1.3~4x75": Edit("encoder", 1, 0, (2, 2), (((3, 3), 75),)),
    "decoder.all.all.8-9~even": Edit("decoder", None, None, (7, 8), ()),
    "cross.3.all.1~2-4x50~6x25": Edit("cross", 2, None, (0, 0), (((1, 3), 50), ((5, 5), 25))),
}


def params(text, **others):
    return EditParams(edits=EditList.parse(text), **others)


@pytest.fixture(scope="module")
def trace(small_translator):
    return small_translator.trace(TEXT, TARGET)


@pytest.mark.parametrize("text", EDITS)
def test_attention_edit_survives_writing_and_parsing(text):
    assert Edit.parse(text) == EDITS[text] and str(EDITS[text]) == text


def test_url_restores_the_attention_edits():
    every = EditParams("cross", EditList(tuple(EDITS.values())), (1, 2), (3,), LEFT_OUT, "4")
    assert EditParams.from_address(every.to_address()) == every
    assert EditParams().to_address() == {} and EditParams.from_address({"edit_edits": "none"}) == EditParams()


@pytest.mark.parametrize(
    "text",
    [
        "encoder.1.1.1",
        "encoder.0.1.1~1x5",
        "encoder.1.1.1~0x5",
        "encoder.1.1.2-1~even",
        "x.1.1.1~even",
        "encoder.1.1.1~1x1000",
        "encoder.1.1.1~evenx5",
        "encoder.².1.1~even",
        "encoder.1.1.1~1x5~",
        "encoder.1.1.1~1x٥",
        "none_none",
    ],
)
def test_invalid_edit_is_dropped_and_reported(text):
    read = EditParams.from_address({"edit_edits": text}).edits
    assert read.unreadable and not read.edits and str(read) == "none"
    both = EditList.parse(f"encoder.1.1.1~even_{text}")
    assert both.unreadable and both.edits == (Edit("encoder", 0, 0, (0, 0), ()),)


def test_number_of_edits_is_limited_to_keep_the_url_short():
    one = "encoder.all.all.100-101~100-101x100"
    read = EditList.parse("_".join([one] * (MAX_EDITS + 5)))
    assert len(read.edits) == MAX_EDITS and read.unreadable and len(str(read)) < 4000


def test_edits_are_dropped_when_their_sentence_or_translation_changes():
    made = params("encoder.1.1.1~even_cross.1.1.1~even", hidden_source=(1,), hidden_target=(2,), step="3")
    assert made.for_another_sentence() == EditParams()
    other = made.for_another_translation()
    assert str(other.edits) == "encoder.1.1.1~even" and (other.hidden_source, other.hidden_target) == ((1,), ())


def test_example_edits_apply_to_the_first_example_sentence(shipped):
    trace = shipped.trace(EXAMPLES[0])
    assert words_of(FIRST, trace) == ("animal", "street")
    assert edit_label(FIRST, trace) == "Encoder attention, every head: “animal” → “street” 100%"
    assert edit_label(SECOND, trace) == ("Cross attention, every head: “weil” (which writes “es”) → “street” 100%")
    for example in (FIRST, SECOND):
        changed = resolve(EditParams(edits=EditList((example,))), trace).interventions
        written = shipped.translate(EXAMPLES[0], interventions=changed).text
        assert written != trace.target_text, "there is something to see"


def test_example_edits_for_other_sentences_use_long_words(shipped):
    tried = candidates(shipped.trace("The old man gave his dog a bone yesterday."))
    names = [words_of(edit, shipped.trace("The old man gave his dog a bone yesterday.")) for edit in tried]
    assert names == [
        ("gave", "bone"),
        ("gave", "yesterday"),
        ("bone", "gave"),
        ("bone", "yesterday"),
        ("yesterday", "gave"),
        ("yesterday", "bone"),
    ]
    assert len(candidates(shipped.trace(EXAMPLES[0]))) == MAX_TRIED and not candidates(shipped.trace("A dog."))


def test_edit_labels_number_repeated_words(shipped):
    """Repeated words have the same numbers as in the list of words to erase."""
    trace = shipped.trace("The dog saw the cat and the dog.", "Der Hund sah die Katze und den Hund.")
    made = params("encoder.all.all.7~4x100_encoder.all.all.4~8x100").edits.edits
    said = [edit_label(edit, trace).split(": ")[1] for edit in made]
    assert said == ["“the (2)” → “the” 100%", "“the” → “dog (2)” 100%"]
    assert what_changed((), params("none", hidden_source=(6,)), trace) == "erased: “the (2)”"


def test_edit_of_a_word_applies_to_all_its_tokens(small_translator, trace):
    """After tokens are merged into words, the edited row has the requested weights."""
    rows = word_groups(trace.target_tokens, trace.target_text)
    columns = word_groups(trace.source_tokens, trace.source_text)
    row = next(number for number, group in enumerate(rows) if len(group) > 1)
    column = max(range(len(columns)), key=lambda number: len(columns[number]))
    (first, last), (start, end) = ((group[0] + 1, group[-1] + 1) for group in (rows[row], columns[column]))
    assert last > first and end > start
    resolved = resolve(params(f"cross.2.3.{first}-{last}~{start}-{end}x60"), trace)
    assert not resolved.problems
    after = reread(small_translator, trace, resolved.interventions)
    words = merge_words(after.cross, rows, columns)[1, 2]
    assert words[row, column] == pytest.approx(0.6, abs=1e-6)
    np.testing.assert_allclose(words.sum(axis=-1), 1, atol=1e-5)
    # In the row of each token of the edited word, the other columns keep their proportions.
    for position in rows[row]:
        old, new = (np.delete(each.cross[1, 2, position], columns[column]) for each in (trace, after))
        np.testing.assert_allclose(new / new.sum(), old / old.sum(), atol=1e-6)
    # The other heads of the layer are unchanged.
    assert np.array_equal(np.delete(after.cross[1], 2, axis=0), np.delete(trace.cross[1], 2, axis=0))


def test_row_edited_to_uniform_attention_covers_all_visible_tokens(small_translator, trace):
    resolved = resolve(params("decoder.all.all.4~even", hidden_target=(1,)), trace)
    after = reread(small_translator, trace, resolved.interventions)
    expected = np.broadcast_to([1 / 3, 0, 1 / 3, 1 / 3], (3, 4, 4))
    np.testing.assert_allclose(after.decoder[:, :, 3, :4], expected, atol=1e-6)
    assert not after.decoder[:, :, 3, 4:].any()


def test_later_edit_replaces_an_earlier_edit_of_the_same_row(trace):
    resolved = resolve(params("cross.all.all.1~1x100_cross.2.3.1~2x100"), trace)
    rows = dict(resolved.interventions.given_rows())
    assert rows["cross", 1, 2, 0] == ((1, 1.0),) and rows["cross", 1, 1, 0] == ((0, 1.0),) and len(rows) == 3 * 4


@pytest.mark.parametrize(
    ("text", "others", "problem"),
    [
        ("encoder.3.1.1~even", {}, "encoder.3.1.1~even: there is no layer 3; the last layer is 2."),
        ("encoder.1.5.1~even", {}, "no head 5; the last head is 4"),
        ("cross.1.1.900~even", {}, "no row 900"),
        ("cross.1.1.1~900x10", {}, "no column 900"),
        ("cross.1.1.1~1x60~2x50", {}, "the weights add up to 110%; the maximum is 100%"),
        ("decoder.1.1.1~3x50", {}, "row 1 cannot attend to column 3, which the mask hides"),
        ("encoder.1.1.1~2x50", {"hidden_source": (1,)}, "cannot attend to column 2, which the mask hides"),
        ("decoder.1.1.1~1x50", {}, "no other visible column can receive the rest"),
        ("none", {"hidden_source": (900,)}, "no token 901 to erase"),
        ("<b>", {}, "cannot be read"),
    ],
)
def test_impossible_edit_is_dropped_and_reported(trace, text, others, problem):
    kept = "cross.1.1.2~1x100"
    resolved = resolve(params(f"{kept}_{text}" if text != "none" else kept, **others), trace)
    assert problem in resolved.problems[0] and len(resolved.problems) == 1
    assert str(resolved.edits) == kept and list(dict(resolved.interventions.given_rows())) == [("cross", 0, 0, 1)]


def test_erased_words_are_either_hidden_or_removed_from_the_text(trace):
    words, tokens = (groups_of(trace.source_tokens, trace.source_text, words=words) for words in (True, False))
    assert tokens == tuple((i,) for i in range(len(trace.source_tokens)))
    invisible = params("none", hidden_source=words[1], hidden_target=(2,))
    changed = resolve(invisible, trace).interventions
    assert (changed.hidden_source, changed.hidden_target) == (words[1], (2,))
    left_out = replace(invisible, erasure=LEFT_OUT)
    assert resolve(left_out, trace).interventions.hidden_source == ()
    assert without_words(trace, words[1]) == "The man reads a book."
    assert without_words(trace, (len(trace.source_tokens) - 1,)) == TEXT, "the end symbol is not typed"
    assert resolve(params("none"), trace).interventions == AS_TRAINED
    assert "erased: “" in what_changed((), invisible, trace) and "erased" in what_changed((), left_out, trace)
    assert what_changed((), params("none"), trace) == "nothing changed"


@pytest.mark.parametrize(
    "text",
    ["encoder.all.all.3~1x100", "cross.2.all.2-3~1-2x70_decoder.1.4.3~even", "encoder.all.2.3~1x50~2x25", "none"],
)
def test_generated_python_code_reproduces_the_edited_translation(small_translator, trace, text, monkeypatch, capsys):
    resolved = resolve(params(text, hidden_source=(1, 4)), trace)
    after = reread(small_translator, trace, resolved.interventions)
    found = continue_from(small_translator, trace, after)
    prefix = tuple(token.id for token in trace.predicted_tokens[: found.step])
    lines = change_lines(trace, resolved.edits.edits, resolved.interventions, prefix, folder=None)
    assert len(lines.splitlines()) == 5
    monkeypatch.setattr("transformer.running.translator.Translator.load", lambda: small_translator)
    exec(compile(lines, "lines", "exec"), {})
    assert capsys.readouterr().out == f"{found.written.text}\n"


def test_caption_names_the_next_word_predicted_after_the_edit(shipped):
    trace = shipped.trace(EXAMPLES[0])
    changed = resolve(EditParams(edits=EditList((SECOND,))), trace).interventions
    found = continue_from(shipped, trace, reread(shipped, trace, changed))
    says, table = describe_next(found, shipped.tokenizer), next_table(found, shipped.tokenizer)
    assert found.step == 8 and "changes from **es** (" in says and "to **die** (" in says
    before, after = table.before, table.after
    assert table.token[before.idxmax()] == "␣es" and table.token[after.idxmax()] == "␣die"
    assert f"{before.max():.1%}" in says and f"{after.max():.1%}" in says
    steps = step_table(found)
    assert (steps.change[:8] == 0).all() and steps.change[8] < -1
    same = continue_from(shipped, trace, reread(shipped, trace, AS_TRAINED))
    assert "stays **" in describe_next(same, shipped.tokenizer)


def test_removed_and_added_words_of_a_translation_are_marked():
    assert merged_words("die Straße nicht, weil", "die Straße, weil") == "die Straße :gray[~~nicht~~]\\, weil"
    assert merged_words("weil es zu", "weil Straße zu") == "weil :gray[~~es~~] :orange-background[**Straße**] zu"
    assert merged_words("a", "a") == "a" and merged_words("", "") == ""


def test_punctuation_is_ignored_when_kept_and_lost_words_are_counted():
    assert count_kept_words("nicht, weil es zu müde war.", "nicht, weil zu schwer war") == (4, ["es", "müde"])
    assert count_kept_words("a b", "a b.") == (2, []) and count_kept_words("", "a") == (0, [])
    assert "*b*" not in merged_words("*a*", "*b*").replace("**", "")
