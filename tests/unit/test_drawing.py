"""Tests of showing attention outside the app: with one call, as an offline file, and with BertViz's function names."""

import base64
import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
import transformers
from traitlets import TraitError

import attention_atlas
from attention_atlas import Browser, Drawing, Trace
from attention_atlas.browser.wire import unpack
from tests.made_up_traces import made_up_trace
from transformer.errors import AttentionError

ROOT = Path(__file__).parents[2]
TOKENS = ["▁I", "▁have", "▁a", "▁dream", "</s>"]


def causal(layers=2, heads=3, count=5):
    weights = np.tri(count) / np.tri(count).sum(axis=1, keepdims=True)
    return np.broadcast_to(weights, (layers, heads, count, count)).astype(np.float32)


def content_of(html):
    (content,) = re.findall(r'<script id="content" type="application/json">(.*)</script>', html)
    return json.loads(content)


def header_of(drawing, kind=None):
    return unpack(drawing.messages[kind or drawing.kind])[0]


def test_show_function_writes_one_file_outside_a_notebook(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    drawing = attention_atlas.show(causal(), TOKENS, save=tmp_path / "kept.npz", title="</script> mine", layer=1)
    html = (tmp_path / "attention.html").read_text(encoding="utf-8")
    assert str(tmp_path / "attention.html") in capsys.readouterr().out
    assert Trace.from_npz(tmp_path / "kept.npz").equals(drawing.trace)
    content = content_of(html)
    assert content["title"] == "</script> mine" and html.count("</script>") == 2
    assert [each["kind"] for each in content["kinds"]] == ["decoder"]
    assert base64.b64decode(content["kinds"][0]["data"]) == drawing.messages["decoder"]
    asked = header_of(drawing)["asked"]["choice"]
    assert (asked["layer"], asked["head"]) == (1, 0)


def test_notebook_displays_the_whole_document():
    drawing = Drawing(made_up_trace(["I", "dream"], ["Ich", "träume"]))
    assert "&lt;!doctype html&gt;" in drawing._repr_html_() and drawing.kind == "cross"
    assert list(drawing.messages) == ["encoder", "decoder", "cross"]


def test_picture_contains_the_weights_and_labels(tmp_path):
    weights = np.tile(np.eye(4, 3, dtype=np.float32)[[0, 1, 2, 2]], (1, 2, 1, 1))
    trace = Trace.from_attention(
        cross=weights, source_tokens=["▁a", "▁<b>", "</s>"], target_tokens=["<s>", "▁x", "▁y", "▁z"]
    )
    Drawing(trace, head=1).save(tmp_path / "head.svg")
    drawn = ElementTree.parse(tmp_path / "head.svg").getroot()
    paths = {path.get("stroke"): path.get("d") for path in drawn.findall(".//{*}path")}
    assert paths["#fde725"] == "M0 0.5h1M1 1.5h1M2 2.5h1M2 3.5h1" and len(paths) == 2
    texts = [text.text for text in drawn.findall(".//{*}text")]
    assert texts[0] == "Cross attention, layer 1, head 2" and {"a", "<b>", "x", "y", "z"} <= set(texts)


@pytest.mark.parametrize(
    ("given", "says"),
    [({"kind": "cross"}, "no cross"), ({"layer": 2}, "no layer 2"), ({"colour": "red"}, "no option colour")],
)
def test_drawing_rejects_a_nonexistent_attention_kind_layer_or_option(given, says):
    with pytest.raises(AttentionError, match=says):
        Drawing(Trace.from_attention(decoder=causal(), target_tokens=TOKENS), **given)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"attention": causal()}, "0 tokens"),
        ({"encoder": causal(), "tokens": TOKENS}, "source_tokens"),
        ({"tokens": TOKENS}, "eager"),
        ({"attention": causal(), "tokens": TOKENS, "save": "head.png"}, "head.png"),
    ],
)
def test_missing_or_invalid_arguments_are_named_in_the_error(given, says):
    with pytest.raises(AttentionError, match=says):
        attention_atlas.show(**given)


def test_array_in_place_of_a_trace_is_rejected():
    with pytest.raises(AttentionError, match="Trace.from_attention"):
        Drawing(causal())


def tiny(name, config, **settings):
    torch.manual_seed(0)
    symbols = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    model = getattr(transformers, name)(getattr(transformers, config)(vocab_size=40, **symbols, **settings)).eval()
    model.set_attn_implementation("eager")
    return model


def test_bertviz_calls_for_bert_show_the_requested_layer_and_heads():
    """Repeats the calls in BertViz's head_view_bert.ipynb and model_view_bert.ipynb, for two sentences. The second
    sentence starts at index 5.
    """
    model = tiny(
        "BertModel", "BertConfig", hidden_size=16, num_hidden_layers=3, num_attention_heads=4, intermediate_size=16
    )
    tokens = ["[CLS]", "the", "cat", "sat", "[SEP]", "on", "it", "[SEP]"]
    attention = model(torch.arange(8)[None], output_attentions=True).attentions
    head = attention_atlas.head_view(attention, tokens, 5, html_action="return")
    assert head.kind == "encoder" and header_of(head)["asked"]["choice"]["look"] == "lines"
    chosen = attention_atlas.head_view(attention, tokens, 5, layer=2, heads=[3, 1], html_action="return")
    asked = header_of(chosen)["asked"]["choice"]
    assert (asked["layer"], asked["head"], asked["heads"]) == (2, 1, [3])
    model_view = attention_atlas.model_view(
        attention, tokens, 5, display_mode="light", include_layers=[1, 2], include_heads=[2], html_action="return"
    )
    asked = header_of(model_view)["asked"]["choice"]
    assert (asked["layer"], asked["head"]) == (1, 2) and "<h1>" in model_view.data


def test_bertviz_call_for_gpt2_shows_decoder_attention():
    model = tiny("GPT2Model", "GPT2Config", n_embd=16, n_layer=2, n_head=4)
    attention = model(torch.arange(4)[None], output_attentions=True).attentions
    view = attention_atlas.model_view(attention, ["The", "Ġcat", "Ġsat", "."], html_action="return")
    assert view.kind == "decoder" and header_of(view)["texts"]["target"] == "The cat sat."


@pytest.mark.parametrize("call", ["head_view", "model_view"])
def test_bertviz_call_for_an_encoder_decoder_model_shows_all_attention_kinds(call):
    model = tiny(
        "BartModel",
        "BartConfig",
        d_model=16,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
    )
    outputs = model(torch.arange(5)[None], decoder_input_ids=torch.arange(4)[None], output_attentions=True)
    view = getattr(attention_atlas, call)(
        encoder_attention=outputs.encoder_attentions,
        decoder_attention=outputs.decoder_attentions,
        cross_attention=outputs.cross_attentions,
        encoder_tokens=["<s>", "She", "Ġsees", "Ġit", "</s>"],
        decoder_tokens=["</s>", "<s>", "Sie", "Ġsieht"],
        html_action="return",
    )
    assert view.trace.kinds == ("encoder", "decoder", "cross")


def test_circuitsvis_call_shows_one_layer_of_decoder_attention():
    drawing = attention_atlas.attention_patterns(tokens=["Hello", ",", " world"], attention=causal(1, 4, 3)[0])
    assert drawing.trace.decoder.shape == (1, 4, 3, 3) and drawing.trace.text == "Hello, world"


def test_widget_rejects_a_choice_that_does_not_exist():
    browser = Browser(Trace.from_attention(decoder=causal(), target_tokens=TOKENS), layer=0, head=1)
    with pytest.raises(TraitError, match="there is no layer 9"):
        browser.layer = 9
    with pytest.raises(TraitError, match="there is no cross attention; choose from: decoder"):
        browser.kind = "cross"
    assert (browser.kind, browser.layer, browser.head) == ("decoder", 0, 1)


def test_widget_includes_a_static_picture_of_the_chosen_head():
    browser = Browser(Trace.from_attention(decoder=causal(), target_tokens=TOKENS), layer=0, head=1)
    browser.head = 0
    data, _ = browser._repr_mimebundle_()
    assert data["text/html"].startswith('<img alt="Masked attention, layer 1, head 1" src="data:image/svg+xml;base64,')
    assert "application/vnd.jupyter.widget-view+json" in data


def test_widget_shows_the_last_layer_of_an_attention_kind_with_fewer_layers():
    browser = Browser(
        Trace.from_attention(encoder=causal(3, 2), decoder=causal(1, 2), source_tokens=TOKENS, target_tokens=TOKENS),
        kind="encoder",
        layer=2,
        head=1,
    )
    browser.kind = "decoder"
    data, _ = browser._repr_mimebundle_()
    assert data["text/html"].startswith('<img alt="Masked attention, layer 1, head 2"')
    assert (browser.layer, browser.head) == (0, 1)


def test_showing_arrays_needs_only_numpy(tmp_path):
    """The test makes the other libraries look uninstalled."""
    code = f"""
import sys
for name in ("torch", "scipy", "sentencepiece", "safetensors", "streamlit", "pandas", "msgspec", "anywidget"):
    sys.modules[name] = None
import numpy as np
import attention_atlas
attention_atlas.show(np.full((1, 2, 3, 3), 1 / 3), ["a", "b", "c"], save={str(tmp_path / "a.html")!r})
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert (tmp_path / "a.html").stat().st_size > 100_000
