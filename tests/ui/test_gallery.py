import json
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

from pages.ui.heads.kinds import PAGES
from pages.ui.measurements import recordings
from tests.ui.driver import healthy, messages, opened, send, texts
from transformer.analysis.heads.gallery import Gallery

PAGE = "pages/gallery.py"
GALLERY = Gallery.from_json(recordings.GALLERY.path.read_text(encoding="utf-8"))
SHOWN = [exhibit for exhibit in GALLERY.exhibits if exhibit.passes]


def component(test):
    ((found, _),) = messages(test, "exhibits")
    return found


def test_every_exhibit_is_shown_with_links_to_its_sentences():
    test = opened(PAGE, text="A dog", palette="magma")
    assert healthy(test) and f"{GALLERY.sentences} sentences" in texts(test)
    cards = json.loads(component(test).proto.json)["exhibits"]
    assert len(cards) == len(SHOWN)
    for exhibit, card in zip(SHOWN, cards, strict=True):
        assert f"layer {exhibit.layer + 1}, head {exhibit.head + 1}" in card["head"]["label"]
        assert f"{exhibit.share:.0%}" in card["numbers"] and f"{exhibit.everyone:.0%}" in card["numbers"]
        for example, shown in zip(exhibit.examples, card["examples"], strict=True):
            link = urlsplit(shown["href"])
            address = {name: values[0] for name, values in parse_qs(link.query).items()}
            assert link.path == PAGES[exhibit.kind].address and address["text"] == example.text
            assert (address["layer"], address["head"]) == (str(exhibit.layer + 1), str(exhibit.head + 1))
            assert address[f"{exhibit.kind}_rows"] == ".".join(map(str, example.rows))
            assert address["palette"] == "magma", "what was chosen stays"
            assert [word["weight"] for word in shown["words"]] == list(example.weights)
            assert [word["aim"] for word in shown["words"]].index(True) == example.looked_at


def test_invalid_click_opens_nothing():
    """tests/browser/test_open_head.py checks valid clicks, because AppTest does not follow page changes with URL
    parameters.
    """
    test = opened(PAGE)
    for value in ("<b>", 0, [], [99], [0, 99], [0, 0, 0], [-1], ["0"], [True], None, {}):
        send(test, component(test), "open", value)
        assert healthy(test) and "what individual heads do" in texts(test), value


def test_gallery_page_names_the_command_that_creates_a_missing_gallery(monkeypatch, tmp_path):
    other = tmp_path / "gallery.json"
    other.write_text(Gallery("another", 1, ()).to_json(), encoding="utf-8")
    monkeypatch.setattr(recordings, "GALLERY", replace(recordings.GALLERY, path=other))
    test = opened(PAGE)
    assert healthy(test) and "transformer.analysis gallery" in test.button("measure_gallery").help
