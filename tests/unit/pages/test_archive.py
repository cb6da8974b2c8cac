from __future__ import annotations

import json
import re
import zlib

import pytest

from pages.ui.archive import KEPT, TEMPLATE, archive_payload
from pages.ui.browser import browser_payload, sentence_id
from pages.ui.choice import FIRST
from transformer.analysis.heads import head_metrics
from transformer.trace import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_the_archive_holds_what_the_page_of_a_kind_lacks(small_translator, kind):
    trace, scores = small_translator.translate("</script><b>x</b>"), small_translator.tokenizer.scores
    data = archive_payload(trace, kind, scores)
    end = 4 + int.from_bytes(data[:4], "little")
    head, parts = json.loads(data[4:end]), []
    assert (head["kind"], head["id"]) == (kind, sentence_id(trace))
    for size in head["sizes"]:
        parts.append(data[end : end + size])
        end += size
    assert end == len(data)
    assert zlib.decompress(parts[0]).decode("utf-8") == TEMPLATE
    others = [browser_payload(trace, head_metrics(trace, other, scores), FIRST) for other in KINDS if other != kind]
    assert parts[1:] == others


def test_the_template_fetches_nothing_and_follows_the_theme():
    assert not re.search(r'(src|href)="?http|@import|url\(', TEMPLATE) and "default-src 'none'" in TEMPLATE
    assert "--st-background-color: #0f1420" in TEMPLATE, "the dark theme of the app"
    before = TEMPLATE.partition(KEPT)[0]
    assert before.endswith('type="application/json">'), "the first mark is the place of the data"
    assert TEMPLATE.count("</script>") == 2, "no source of ours ends its own script"
