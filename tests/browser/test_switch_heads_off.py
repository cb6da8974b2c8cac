import re

import pytest
from playwright.sync_api import expect

PAGE = "/switch_heads_off?text=I+have+a+dream.&off_heads="


def switch(reader, name):
    return reader.page.locator(f'.switches [data-head="{name}"]')


@pytest.mark.thorough
def test_heads_can_be_switched_one_by_one_or_all_with_one_button(reader):
    reader.open(PAGE + "cross.1.8")
    expect(switch(reader, "cross.1.8")).to_have_attribute("aria-checked", "false")
    expect(reader.page.locator(".switches .count")).to_have_text("1 of 144 heads off")
    switch(reader, "cross.1.8").click()
    reader.see("All heads are on")
    expect(reader.page).not_to_have_url(re.compile("off_heads="))
    # Only one attention kind's switchboard is open; buttons open the other kinds' switchboards.
    expect(switch(reader, "encoder.2.1")).to_have_count(0)
    assert reader.page.locator(".switches button:visible").count() < 75
    reader.page.get_by_role("button", name="Encoder attention all on").click()
    expect(switch(reader, "encoder.1.1")).to_be_focused()
    # The second click comes before the server has answered the first.
    switch(reader, "encoder.2.1").click()
    switch(reader, "encoder.2.2").click()
    expect(reader.page).to_have_url(re.compile("off_heads=encoder.2.1-encoder.2.2"))
    expect(switch(reader, "encoder.2.1")).to_have_attribute("aria-checked", "false")
    reader.page.get_by_role("button", name="Only encoder attention, layer 2, head 2").click()
    expect(reader.page.locator(".switches .count")).to_have_text("47 of 144 heads off")
    reader.page.get_by_role("button", name="Invert").click()
    expect(reader.page.locator(".switches .count")).to_have_text("97 of 144 heads off")
    reader.page.get_by_role("button", name="All on", exact=True).click()
    expect(reader.page).not_to_have_url(re.compile("off_heads="))


@pytest.mark.thorough
def test_arrow_keys_move_between_switches(reader):
    reader.open(PAGE + "none")
    switch(reader, "cross.1.1").focus()
    for key in ("ArrowDown", "ArrowRight", "Space"):
        reader.page.keyboard.press(key)
    expect(reader.page).to_have_url(re.compile("off_heads=cross.2.2$|off_heads=cross.2.2&"))
    for key in ("ArrowLeft", "ArrowLeft", "Enter"):
        reader.page.keyboard.press(key)
    expect(reader.page.locator(".switches .count")).to_have_text("8 of 144 heads off")
