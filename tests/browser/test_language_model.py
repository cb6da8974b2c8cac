import re

from playwright.sync_api import expect

PAGE = "/language_model?text=Hello.&lm_length=5&lm_text="


def test_user_can_open_a_head_and_choose_another_token(reader):
    reader.open(PAGE + "The+dog")
    reader.maps(1)
    box = reader.page.get_by_role("textbox", name="Start of a text")
    box.fill("My sister")
    box.press("Enter")
    reader.page.wait_for_url("**lm_text=My+sister**")
    # The URL changes when the script run starts; until the run ends, the map may still show the previous text.
    reader.wait()
    heads = reader.page.locator(".atlas").get_by_label("Head", exact=True)
    # Choose a head other than the one shown when the page opened.
    other = "2" if heads.input_value() == "0" else "1"
    heads.select_option(label=other)
    reader.page.wait_for_url(f"**lm_head={other}**")
    reader.wait()
    reader.page.get_by_text("Step by step", exact=True).first.click()
    reader.page.locator(".steps[data-drawn$=' 1']").wait_for()
    expect(reader.page.locator(".timeline .token")).to_have_count(5)
    # A language model reads only one text, so there is one heading above the attention rows.
    expect(reader.page.locator(".attention-rows h4:visible")).to_have_count(1)
    second = reader.page.locator(".candidates .name").nth(1).inner_text()
    reader.page.locator(".candidates .take").nth(1).click()
    reader.page.wait_for_url("**lm_forced=**")
    expect(reader.page.locator(".timeline .token span").first).to_have_text(second)
    # "Compare heads" shows the same text, and links back to the map of each head.
    main = reader.page.get_by_test_id("stMain")
    main.get_by_role("button", name="Compare this model's heads").click()
    reader.arrived("compare_heads")
    row = main.locator(".heads tbody tr").filter(has_text="layer 2, head 3")
    row.locator("td").nth(2).click()
    reader.page.wait_for_url(re.compile("language_model.*lm_layer=2&lm_head=3"))
    reader.head(2, 3)
