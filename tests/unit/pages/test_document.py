from __future__ import annotations

import base64
import re

from pages.ui.browser import browser_payload
from pages.ui.choice import Choice
from pages.ui.document import document
from transformer.analysis.heads import head_metrics
from transformer.trace import KINDS
from transformer.translator import Translator


def test_the_document_holds_everything_and_fetches_nothing(small_translator):
    trace = small_translator.translate("</script><b>x</b>")
    text = document(trace, Choice(layer=1), small_translator.tokenizer.scores)
    payloads = re.findall(r'base64">([^<]+)</script>', text)
    expected = [
        browser_payload(trace, head_metrics(trace, kind, small_translator.tokenizer.scores), Choice(layer=1))
        for kind in KINDS
    ]
    assert [base64.b64decode(one) for one in payloads] == expected
    assert "&lt;/script&gt;" in text and "<b>x" not in text
    assert not re.search(r'(src|href)="?http|@import|url\(', text) and "default-src 'none'" in text
    assert "--st-background-color: #0f1420" in text, "the dark theme of the app"


def test_64_pieces_are_a_file_to_send():
    translator = Translator.load(device="cpu")
    trace = translator.read("dog cat " * 31 + "dog", "Hund Katze " * 31 + "Hund")
    assert len(trace.source_pieces) == 64
    assert len(document(trace, Choice(), translator.tokenizer.scores).encode()) < 2_500_000
