import re
import zlib

import numpy as np
import pytest

from attention_atlas.browser.html_file import PLACEHOLDER, TEMPLATE
from attention_atlas.browser.payload import browser_payload, sentence_id
from attention_atlas.browser.wire import unframe
from pages.ui.components.html_export import export_parts
from pages.ui.params.attention import AttentionParams
from transformer.analysis.heads.metrics import head_metrics
from transformer.values.trace import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_html_export_contains_the_attention_kinds_that_the_page_does_not_show(small_translator, kind):
    trace, vocabulary = small_translator.trace("</script><b>x</b>"), small_translator.tokenizer
    data = export_parts(trace, kind, lambda other: head_metrics(trace, other, vocabulary.scores))
    head, body = unframe(data)
    assert (head["kind"], head["id"]) == (kind, sentence_id(trace))
    ends = np.cumsum(head["sizes"])
    parts = [body[end - size : end] for end, size in zip(ends, head["sizes"], strict=True)]
    assert ends[-1] == len(body)
    assert zlib.decompress(parts[0]).decode("utf-8") == TEMPLATE
    others = [
        browser_payload(trace, head_metrics(trace, other, vocabulary.scores), vars(AttentionParams()))
        for other in KINDS
        if other != kind
    ]
    assert parts[1:] == others


def test_export_template_fetches_nothing_and_follows_the_theme():
    assert not re.search(r'(src|href)="?http|@import|url\(', TEMPLATE) and "default-src 'none'" in TEMPLATE
    assert "--st-background-color: #0f1420" in TEMPLATE, "the dark theme of the app"
    before = TEMPLATE.partition(PLACEHOLDER)[0]
    assert before.endswith('type="application/json">'), "the first mark is the place of the data"
    assert TEMPLATE.count("</script>") == 2, "no source of ours ends its own script"
