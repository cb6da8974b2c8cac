"""Tests that pages use the chosen model with its languages and measurements, and keep its name in the URL."""

import gc
import json
import shutil
import weakref
from dataclasses import replace
from pathlib import Path

import pytest

from pages.ui.measurements import local_measurement
from pages.ui.params.compare_heads import UNTRAINED
from pages.ui.params.pages import PAGES
from pages.ui.runs.inference import CachedRuns
from pages.ui.runs.models import MODELS, load_translator
from tests.foreign_models import TEXTS, arabic_model
from tests.ui.driver import DREAM, FIRST, headers, healthy, messages, opened, submit, texts, typed
from tests.unit.interop.family_peers import make_family
from transformer.analysis.heads.gallery import gallery_of
from transformer.checkpoints.available_models import SHIPPED
from transformer.files.paths import MODEL
from transformer.files.small_files import MAX_FILE_BYTES
from transformer.interop.importer import import_model
from transformer.lessons.folders import SHIPPED_FOLDER as LESSONS
from transformer.running.translator import Translator

ARABIC, COMPARE = "en-ar", "pages/compare_heads.py"
# A name of the maximum length, for a model with separate vocabularies, stacks of different depths and two target
# languages.
LARGE = "opus-mt-" + "x" * 46 + "-en-SEMITIC"[:10]
ARA, HEB = ">>ara<<", ">>heb_Hebr<<"
# Sentences for the model that reads Arabic. There are only three, because each measurement runs on all of them.
EXAMPLES = TEXTS["ar"][:3]


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> Path:
    """Return a working directory with four models: two write Arabic, one reads Arabic, and one is damaged."""
    place = tmp_path_factory.mktemp("atlas")
    arabic_model(place / "models" / ARABIC)
    arabic_model(
        place / "models" / LARGE,
        codes=(ARA, HEB),
        separate=True,
        encoder_layers=3,
        decoder_layers=1,
        unapplied=("num_beams 6", "repetition_penalty 1.5"),
    )
    reading = arabic_model(place / "models" / "ar-en", reads="ar", writes="en")
    (reading / "sentences.txt").write_text("\n".join(EXAMPLES), encoding="utf-8")
    (arabic_model(place / "models" / "damaged") / "model.safetensors").unlink()
    return place


@pytest.fixture(scope="module")
def loaded_models_are_kept():
    """Keep loaded models between tests, as a server does."""
    MODELS.clear()
    yield
    MODELS.clear()


@pytest.fixture(autouse=True)
def app_with_installed_models(monkeypatch, models, shipped, loaded_models_are_kept):
    """Run the app in the directory with the models, and with the shipped model that the tests have already loaded."""
    load = Translator.load
    monkeypatch.setattr(Translator, "load", lambda folder, device: shipped if folder == MODEL else load(folder, device))
    monkeypatch.chdir(models)


def test_model_menu_is_next_to_the_device_menu_and_sets_the_url():
    test = opened(text=DREAM)
    assert test.selectbox("model").options == [
        "en-de: English → German, built in",
        "ar-en: Arabic → English",
        "damaged: cannot be used",
        "en-ar: English → Arabic",
        f"{LARGE}: English → Arabic",
    ]
    assert test.selectbox("model").value == SHIPPED and "model" not in test.query_params
    test.selectbox("model").set_value(ARABIC).run()
    assert healthy(test) and test.query_params["model"] in (ARABIC, [ARABIC])
    assert "English into Arabic" in texts(test) and "German" not in texts(test)
    assert typed(test) == DREAM, "both read English"
    test.selectbox("model").set_value("ar-en").run()
    assert healthy(test) and typed(test) == EXAMPLES[0], "an English sentence means nothing to it"
    assert test.selectbox("example").options == [*EXAMPLES, "My sentences …"]
    test.selectbox("model").set_value(SHIPPED).run()
    assert healthy(test) and "model" not in test.query_params and "English into German" in texts(test)


@pytest.mark.parametrize(
    "page",
    [
        page.script if page.name == "compare_heads" else pytest.param(page.script, marks=pytest.mark.thorough)
        # Leave out the lessons page, because a lesson chooses its own model.
        for page in PAGES.values()
        if page.needs == "translator" and page.name != "lessons"
    ],
)
def test_every_page_uses_the_chosen_model(page):
    test = opened(page, text=f"{HEB} {DREAM}", model=LARGE)
    assert healthy(test)
    assert "German" not in texts(test)


def test_heads_are_matched_only_between_models_of_the_same_language():
    there = {"text": DREAM, "compare_part": "models"}
    test = opened(COMPARE, **there, compare_other=ARABIC)
    assert healthy(test) and ("is matched with" in texts(test) or "has no match" in texts(test))
    assert "attention-atlas match" in texts(test) and "random weights" in texts(test)
    test.selectbox("compare_other").set_value(UNTRAINED).run()
    assert healthy(test) and "attention-atlas match" not in texts(test)
    test = opened(COMPARE, **there, compare_other=ARABIC, compare_kind="cross")
    assert "translate into different languages" in test.info[0].value and not test.exception
    test = opened(COMPARE, **there, compare_other="ar-en")
    assert "the models read English and Arabic" in test.warning[0].value and not test.exception


def test_map_page_shows_the_match_of_the_chosen_head():
    page, there = "pages/encoder_attention.py", {"text": DREAM, "layer": 2, "head": 3}
    assert "is matched with" not in texts(opened(page, **there))
    there["compare_other"] = ARABIC
    test = opened(page, **there)
    assert (
        healthy(test) and "**Head 2.3 of en\\-de**" in texts(test) and test.selectbox("compare_other").value == ARABIC
    )
    compared = opened(COMPARE, **there, compare_part="models")
    (said,) = (each.value for each in compared.markdown if each.value.startswith("**Head 2.3 of"))
    assert said in [each.value for each in test.markdown]
    test = opened("pages/cross_attention.py", **there)
    assert "translate into different languages" in test.info[0].value and "alignment_shift" in [
        each.key for each in test.get("button_group")
    ]


@pytest.mark.thorough
def test_translation_page_lists_the_search_settings_that_it_ignores():
    test = opened(text=DREAM, model=LARGE)
    assert healthy(test)
    assert texts(test).replace("\\", "").count("also include num_beams 6, repetition_penalty 1.5. This page") == 1
    assert "also include" not in texts(opened(text=DREAM, model=ARABIC))


def test_chosen_model_is_kept_on_other_pages_and_for_new_sentences():
    test = opened("pages/cross_attention.py", text=DREAM, model=ARABIC)
    (header,) = headers(test)
    assert (header["layers"], header["heads"]) == (2, 4)
    assert "Each time it writes a word of Arabic, the model looks at the English sentence." in texts(test)
    test.switch_page(FIRST).run()
    assert "English into Arabic" in texts(test)
    submit(test, "The dog.")
    assert test.query_params["model"] in (ARABIC, [ARABIC])


def test_page_offers_all_target_languages_of_a_model(models):
    page = "pages/cross_attention.py"
    test = opened(page, text=DREAM, model=LARGE)
    offered = test.selectbox("target_language")
    assert offered.options == ["Arabic (ara)", "Hebrew (heb_Hebr)"] and offered.value is None
    assert healthy(test) and "Choose one beside the sentence" in texts(opened(text=DREAM, model=LARGE))
    offered.set_value(HEB).run()
    assert healthy(test) and test.query_params["text"] in (f"{HEB} {DREAM}", [f"{HEB} {DREAM}"])
    assert typed(test) == DREAM, "the code is not typed"
    (header,) = headers(test)
    assert f"{HEB} language" in json.dumps(header, ensure_ascii=False), "a column of its own"
    assert "a word of Hebrew" in texts(test) and "Arabic" not in texts(test)
    submit(test, "The dog.")
    assert healthy(test) and typed(test) == "The dog." and test.selectbox("target_language").value == HEB
    submit(test, f"{ARA} The dog.")
    assert typed(test) == "The dog." and test.selectbox("target_language").value == ARA
    test.selectbox("example").set_value(test.selectbox("example").options[1]).run()
    assert test.query_params["text"][0].startswith(f"{ARA} ") or test.query_params["text"].startswith(f"{ARA} ")
    test.selectbox("model").set_value(SHIPPED).run()
    assert healthy(test) and not [each for each in test.selectbox if each.key == "target_language"]
    assert ">>" not in typed(test), "which the other model does not write"


@pytest.mark.parametrize(
    ("family", "own", "other"),
    [
        ("nllb", ("<<eng_Latn>>", ">>deu_Latn<<"), ("<<fra_Latn>>", ">>zho_Hans<<")),
        pytest.param("mbart50", ("<<en_XX>>", ">>de_DE<<"), ("<<fr_XX>>", ">>zh_CN<<"), marks=pytest.mark.thorough),
        pytest.param("m2m100", ("<<en>>", ">>de<<"), ("<<fr>>", ">>zh<<"), marks=pytest.mark.thorough),
    ],
)
def test_model_with_several_source_and_target_languages_offers_two_lists(models, tmp_path, family, own, other):
    make_family(family, tmp_path)
    import_model(str(tmp_path), models / "models" / family)
    try:
        test = opened("pages/cross_attention.py", text=DREAM, model=family)
        keys = "source_language", "target_language"
        assert [test.selectbox(key).value for key in keys] == [None, None]
        assert [test.selectbox(key).placeholder for key in keys] == [
            f"{name} ({code[2:-2]})" for name, code in zip(("English", "German"), own, strict=True)
        ]
        assert "English → German" in [each.proto.popover.label for each in test.get("popover")]
        for key, code in zip(keys, other, strict=True):
            test.selectbox(key).set_value(code).run()
        assert healthy(test) and test.query_params["text"] in (text := f"{' '.join(other)} {DREAM}", [text])
        assert typed(test) == DREAM, "the codes are not typed"
        assert "French → Chinese" in [each.proto.popover.label.split(" (")[0] for each in test.get("popover")]
        test.selectbox(keys[1]).set_value(own[1]).run()
        submit(test, "The dog.")
        assert healthy(test) and [test.selectbox(key).value for key in keys] == [other[0], own[1]]
    finally:
        shutil.rmtree(models / "models" / family)


def test_heads_are_measured_in_the_chosen_language(models):
    own = models / "models" / LARGE
    (own / "sentences.txt").write_text(f"The dog.\n{ARA} The old dog.\n", encoding="utf-8")
    test = opened("pages/gallery.py", text=f"{HEB} {DREAM}", model=LARGE)
    test.button("measure_head_gallery").click().run()
    assert healthy(test) and "2 sentences" in texts(test)
    assert "no translation ended within the length limit" in texts(test), "of random weights"
    for name in ("sentences.txt", "head_gallery.json"):
        (own / name).unlink()


@pytest.mark.thorough
def test_right_to_left_column_is_explained():
    assert "Arabic is read from right to left" in texts(opened("pages/masked_attention.py", text=DREAM, model=ARABIC))
    assert "right to left" not in texts(opened("pages/encoder_attention.py", text=DREAM, model=ARABIC))


def test_model_menu_names_the_languages_and_the_import_command():
    test = opened(text=DREAM)
    assert "Model" in [each.proto.popover.label for each in test.get("popover")]
    assert "en-de: English → German, built in" in test.selectbox("model").options
    more = test.selectbox("more_languages")
    assert "French → English" in more.options and "English → German" not in more.options
    assert more.value is None and not test.code
    more.set_value("fr-en").run()
    assert healthy(test)
    assert test.code[0].value == "attention-atlas import Helsinki-NLP/opus-mt-fr-en --output models/fr-en"
    assert "0.3 GB on disk" in texts(test)


def test_page_suggests_an_installed_model_for_a_text_in_its_language():
    test = opened(text=EXAMPLES[0])
    assert "This looks like Arabic" in test.warning[0].value
    assert "For Arabic → English, choose ar\\-en in the menu" in test.warning[0].value


def test_unknown_model_is_reported_and_replaced_by_the_shipped_model():
    test = opened(text=DREAM, model="xx-yy")
    assert not test.exception and not test.error
    assert "xx\\-yy" in test.warning[0].value and "Ich habe einen Traum" in texts(test)
    assert test.selectbox("model").value == SHIPPED


def test_damaged_model_is_reported_in_one_line_and_can_be_replaced():
    test = opened(text=DREAM, model="damaged")
    assert not test.exception and len(test.error) == 1
    assert "is missing" in test.error[0].value
    test.selectbox("model").set_value(ARABIC).run()
    assert healthy(test)
    assert "is missing" in texts(opened("pages/about.py", text=DREAM)), "About lists what cannot be used"


@pytest.mark.thorough
def test_at_most_two_models_stay_in_memory(models):
    MODELS.clear()
    first = weakref.ref(load_translator("cpu", models / "models" / ARABIC))
    memory = weakref.ref(next(iter(CachedRuns(first()).weights().arrays.values())))
    for name in (SHIPPED, "ar-en", SHIPPED):
        opened("pages/about.py", text=DREAM, **({} if name == SHIPPED else {"model": name}))
        assert len(MODELS) <= 2
    gc.collect()
    assert first() is None and memory() is None, "what was asked for longest ago is gone, with its weights"


def test_about_page_shows_the_card_of_the_chosen_model():
    test = opened("pages/about.py", text=DREAM, model=ARABIC)
    assert healthy(test) and "A stranger's card" in texts(test) and "reads English and writes Arabic" in texts(test)
    assert "trained for this app" not in texts(test)
    assert "example.org" not in texts(test) and "<b>" not in texts(test)


def test_recorded_results_of_the_shipped_model_are_not_shown_for_another_model(models):
    gallery = opened("pages/gallery.py", text=DREAM, model=ARABIC)
    assert healthy(gallery) and "has not been run on this model yet" in texts(gallery)
    assert not gallery.get("bidi_component") or "exhibits" not in str(gallery.get("bidi_component"))
    off = opened("pages/switch_heads_off.py", text=DREAM, model=ARABIC)
    assert healthy(off) and "BLEU" not in texts(off).partition("The change in BLEU over many")[0]
    mattered = opened("pages/what_mattered.py", text=DREAM, model=ARABIC, mattered_part="agreement")
    assert "has not been measured for this model" in texts(mattered)
    assert f"--model models/{ARABIC}" in mattered.button("measure_method_agreement").help
    pairs = opened("pages/compare_heads.py", text=DREAM, model="ar-en", compare_part="two_heads")
    assert not [button for button in pairs.button if "tired" in button.label]


# For each measurement: the page that starts it, URL parameters, and words from the page's conclusion.
MEASURED = {
    "head_statistics": ("compare_heads", {}, "over 3 sentences"),
    "head_gallery": ("gallery", {}, "model on 3 sentences"),
    "head_importance": ("compare_heads", {}, "averaged over 3 other sentences"),
    "method_agreement": ("what_mattered", {"mattered_part": "agreement"}, "Closest to the ranking by erasure is"),
}


@pytest.mark.parametrize(
    "name", ["head_statistics", *(pytest.param(name, marks=pytest.mark.thorough) for name in list(MEASURED)[1:])]
)
def test_head_measurements_run_on_demand_and_are_saved_with_the_model(models, name):
    file = models / "models" / "ar-en" / f"{name}.json"
    page, chosen, shown = MEASURED[name]

    def page_of_the_model():
        return opened(f"pages/{page}.py", text=EXAMPLES[1], model="ar-en", **chosen)

    test = page_of_the_model()
    assert healthy(test) and shown not in texts(test)
    test.button(f"measure_{name}").click().run()
    assert healthy(test) and shown in texts(test)
    assert not [button for button in test.button if button.key == f"measure_{name}"]
    assert json.loads(file.read_text(encoding="utf-8"))["sentences"] == 3
    assert shown in texts(page_of_the_model())
    file.unlink()


@pytest.mark.thorough
def test_gallery_uses_the_languages_of_the_model(models):
    page, folder = "pages/gallery.py", models / "models" / "ar-en"
    translator = load_translator("cpu", folder)
    traces = [translator.trace(text, "The old man has seen it.") for text in TEXTS["ar"]]
    found = gallery_of(traces, translator.version, translator.languages)
    assert {each.task for each in found.exhibits} >= {"previous", "next", "alignment", "resting"}
    assert not {each.task for each in found.exhibits} & {"negation", "auxiliary", "comma", "verb"}, "of other languages"
    # No head of a random model does a task, so pretend that every head does.
    done = replace(found, exhibits=tuple(replace(each, share=0.9) for each in found.exhibits))
    (folder / "head_gallery.json").write_text(done.to_json(), encoding="utf-8")
    test = opened(page, model="ar-en")
    assert healthy(test)
    ((drawn, data),) = messages(test, "exhibits")
    cards = {card["title"]: card for card in data["exhibits"]}
    assert "The English word before" in cards and "German" not in drawn.proto.json
    assert {example["direction"] for example in cards["The word after"]["examples"]} == {"rtl"}
    assert {example["direction"] for example in cards["The English word before"]["examples"]} == {"ltr"}
    assert all("model=ar-en" in card["head"]["href"] for card in cards.values())
    (folder / "head_gallery.json").unlink()


@pytest.mark.thorough
def test_imported_model_uses_its_own_example_sentences(models):
    """The model reads English, so the shipped model's example sentences would suit it too."""
    shipped = opened(text=DREAM, model=ARABIC).selectbox("example").options
    file = models / "models" / ARABIC / "sentences.txt"
    file.write_text("The dog.\nThe old dog.\n", encoding="utf-8")
    assert (
        opened(text=DREAM, model=ARABIC).selectbox("example").options
        == ["The dog.", "The old dog.", "My sentences …"]
        != shipped
    )
    test = opened("pages/compare_heads.py", text=DREAM, model=ARABIC, compare_part="two_heads")
    pairs = [each for each in test.button if each.key == "compare_pair_0"]
    assert healthy(test) and pairs, "it reads English all the same"
    file.unlink()


def test_sentence_file_that_cannot_be_measured_is_reported(models):
    """Covers a file that is not text, a file that is too large, and sentences that the model cannot read."""
    file = models / "models" / ARABIC / "sentences.txt"
    file.write_bytes(b"\xff\xfe broken")
    test = opened("pages/gallery.py", model=ARABIC)
    assert healthy(test) and "is not UTF" in texts(test)
    with file.open("wb") as large:
        large.truncate(MAX_FILE_BYTES + 1)
    test = opened("pages/gallery.py", model=ARABIC)
    assert healthy(test) and "is larger than 32 MB" in texts(test) and "no text" not in texts(test)
    file.write_text("word " * 1000, encoding="utf-8")
    test = opened("pages/gallery.py", model=ARABIC)
    test.button("measure_head_gallery").click().run()
    assert not test.exception and "No sentence is usable" in test.warning[0].value
    file.unlink()


def test_model_in_a_read_only_folder_can_be_measured(monkeypatch, models):
    blocked = models / "models" / ARABIC / "head_statistics.unfinished"
    blocked.mkdir()
    (models / "models" / ARABIC / "sentences.txt").write_text("The dog.\n", encoding="utf-8")
    monkeypatch.setattr(local_measurement, "UNSAVED_RECORDS", {})
    test = opened("pages/compare_heads.py", text=DREAM, model=ARABIC)
    test.button("measure_head_statistics").click().run()
    assert healthy(test) and "over 1 sentences" in texts(test) and len(local_measurement.UNSAVED_RECORDS) == 1
    blocked.rmdir()
    (models / "models" / ARABIC / "sentences.txt").unlink()


@pytest.mark.thorough
def test_lessons_page_names_the_model_that_lessons_use():
    test = opened("pages/lessons.py", text=DREAM, model=ARABIC)
    assert healthy(test) and "English → German" in texts(test)
    test = opened("pages/lessons.py", text=DREAM, model=ARABIC, lesson_id="one_row")
    assert healthy(test) and "This lesson uses the model en-de: English → German" in texts(test)


def test_lesson_uses_the_model_that_it_names(models):
    own = models / "lessons"
    own.mkdir()
    lesson = (LESSONS / "02_one_row.toml").read_text(encoding="utf-8")
    (own / "mine.toml").write_text(f'model = "{ARABIC}"\n' + lesson, encoding="utf-8")
    (own / "gone.toml").write_text('model = "xx-yy"\n' + lesson, encoding="utf-8")
    test = opened("pages/lessons.py", text=DREAM, lesson_id="mine")
    assert not test.exception
    gone = opened("pages/lessons.py", text=DREAM, lesson_id="gone")
    assert not gone.exception and "no model" in gone.warning[0].value
