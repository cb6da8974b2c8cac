import re

import pytest
from playwright.sync_api import expect

OPEN = re.compile("^My sentences")


@pytest.mark.thorough
def test_sentence_list_survives_a_reload_and_can_be_measured(reader, tmp_path):
    page = reader.page
    reader.open("/?text=I+have+a+dream.")
    page.get_by_role("combobox", name="or an example").click()
    page.get_by_role("option", name="My sentences …").click()
    # The file input exists before the dialog opens, and opening the dialog clears any earlier error message.
    expect(page.get_by_role("dialog", name="My sentences")).to_be_visible()
    chosen = page.get_by_label("Read sentences from a file")
    for name, content in (("latin.txt", "Männer".encode("latin-1")), ("large.txt", b"word\n" * 2_000_000)):
        (tmp_path / name).write_bytes(content)
        chosen.set_input_files(tmp_path / name)
        reader.see("not UTF-8 text" if name == "latin.txt" else "too large")
    (tmp_path / "mine.txt").write_text("A dog.\n\nI have a dream.\nThe old man reads.", encoding="utf-8")
    chosen.set_input_files(tmp_path / "mine.txt")
    expect(page.get_by_label("My sentences, one per line")).to_have_value(re.compile("The old man reads"))
    page.get_by_role("button", name="Use these").click()
    expect(page.get_by_role("button", name=OPEN)).to_have_text("1 of 3")
    page.get_by_role("button", name="Next sentence in my list").click()
    expect(page).to_have_url(re.compile("text=I.have.a.dream"))
    reader.reload()
    expect(page.get_by_role("button", name=OPEN)).to_have_text("2 of 3")
    reader.open("/switch_heads_off?text=A+dog.")
    expect(page.get_by_role("button", name=OPEN)).to_have_text("1 of 3")
    page.get_by_role("button", name="Measure all 3").click()
    reader.see("Measured: 3 of 3")
    page.get_by_text("Sentences", exact=True).click()
    reader.see("Save as NPZ (every head, effect and sentence)")
    page.get_by_role("button", name=OPEN).click()
    page.get_by_role("button", name="Forget them").click()
    expect(page.get_by_role("combobox", name="or an example")).to_be_visible()
    expect(page.get_by_role("button", name=OPEN)).to_have_count(0)
