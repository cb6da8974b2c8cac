"""Tests the notebook widget's module under a content security policy that lets it load only from blob: and data: URLs.

VS Code and Colab render widgets in frames with such a policy. The module must not use relative imports,
evaluate strings as code, or fetch anything.
"""

import base64
import json
import re

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

import attention_atlas

POLICY = "default-src 'none'; script-src 'nonce-notebook' blob: data:; style-src 'unsafe-inline'; img-src data: blob:"
ADDRESS = "https://notebook.example/output"
# HTML page that imports the module and passes it a model with anywidget's interface.
PAGE = """<!doctype html><title>output</title><body><div id="cell"></div><script nonce="notebook">
const source = SOURCE, state = STATE, calls = {};
for (const [kind, text] of Object.entries(state.messages))
  state.messages[kind] = new DataView(Uint8Array.from(atob(text), (each) => each.charCodeAt(0)).buffer);
const model = {
  get: (name) => state[name],
  set: (name, value) => { state[name] = value; for (const call of calls[`change:${name}`] ?? []) call(); },
  save_changes: () => { document.title = `${state.kind} ${state.layer} ${state.head} ${state.rows} ${state.columns}`; },
  on: (name, call) => { (calls[name] ??= []).push(call); },
  off: (name, call) => { calls[name] = calls[name].filter((each) => each !== call); },
};
const url = URL_OF;
import(url).then((module) => module.default.render({ model, el: document.getElementById("cell") }));
</script>"""
URLS = {
    "blob": 'URL.createObjectURL(new Blob([source], { type: "text/javascript" }))',
    "data": '"data:text/javascript;charset=utf-8," + encodeURIComponent(source)',
}


@pytest.fixture(scope="module")
def widget():
    weights = np.full((2, 3, 5, 5), 0.2)
    trace = attention_atlas.Trace.from_attention(
        encoder=weights,
        cross=weights,
        source_tokens=["▁The", "▁old", "▁man", "▁slept", "</s>"],
        target_tokens=["<pad>", "▁Der", "▁alte", "▁Mann", "▁schlief"],
    )
    return attention_atlas.Browser(trace, kind="cross", layer=1, head=2)


@pytest.mark.parametrize("scheme", URLS)
def test_widget_module_renders_when_loaded_from_a_blob_or_data_url(browser: Browser, widget, scheme):
    state = {name: getattr(widget, name) for name in ("kind", "layer", "head", "rows", "columns")}
    messages = {kind: base64.b64encode(message).decode() for kind, message in widget.messages.items()}
    html = PAGE.replace("URL_OF", URLS[scheme]).replace("STATE", json.dumps({**state, "messages": messages}))
    html = html.replace("SOURCE", json.dumps(str(widget._esm)).replace("</", "<\\/"))
    page = browser.new_page(viewport={"width": 800, "height": 700})
    requested, reported = [], []
    page.on("request", lambda request: requested.append(request.url.split(":")[0]))
    page.on("console", lambda message: reported.append(message.text))
    page.on("pageerror", lambda error: reported.append(str(error)))
    headers = {"Content-Security-Policy": POLICY, "Content-Type": "text/html"}
    page.route(ADDRESS, lambda route: route.fulfill(body=html, headers=headers))
    page.goto(ADDRESS)
    expect(page.locator(".atlas[data-drawn$=' 2 3']")).to_be_visible()
    page.locator(".atlas canvas.large").focus()
    for key in (",", "ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(page.locator(".atlas[data-drawn$=' 2 2']")).to_be_visible()
    expect(page).to_have_title(re.compile(r"cross 1 1 \d \d"))
    assert reported == [] and set(requested) <= {"https", scheme} and requested.count("https") == 1
    page.close()
