from __future__ import annotations

import torch

from transformer.checkpoints.translator import load_checkpoint
from transformer.decoding.beam import beam_search
from transformer.decoding.greedy import greedy
from transformer.decoding.hypotheses import hypotheses
from transformer.training.evaluate import score, translate_all

TEXTS = ["The old man reads a book in the garden.", "I have a dream.", "Where did you learn it?", "The dog."]


def test_translations_come_in_the_order_of_the_sentences(model_folder):
    """Greedy and with a beam, in batches of mixed lengths, as one by one."""
    checkpoint = load_checkpoint(model_folder)
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    for beam in (1, 3):
        expected = []
        for text in TEXTS:
            source = torch.tensor([tokenizer.encode_ids(text)])
            real = torch.ones_like(source, dtype=torch.bool)
            # The batch's limit is that of its longest sentence.
            limit = 2 * max(len(tokenizer.encode_ids(each)) for each in TEXTS) + 10
            with torch.inference_mode():
                cache = model.start_cache(model.encode(source, real), real)
                if beam == 1:
                    pieces = [int(step.predicted) for step in greedy(model, cache, limit=limit)]
                else:
                    pieces = hypotheses(beam_search(model, cache, beam_size=beam, limit=limit), 1)[0][0].pieces
            expected.append(tokenizer.decode(pieces))
        assert translate_all(model, tokenizer, TEXTS, "cpu", beam=beam) == expected


def test_scores_by_length_of_the_source():
    pairs = [("a b c", "eins zwei drei vier"), ("a " * 6, "sechs Wörter sind es hier"), ("a " * 50, "zu lang")]
    scores = score(["eins zwei drei vier", "sechs Wörter", "zu lang"], pairs)
    assert list(scores.by_length) == ["1-5", "6-12"] and scores.sentences == 3
    assert scores.by_length["1-5"].chrf == 100 and scores.by_length["1-5"].length_ratio == 1
    assert scores.by_length["6-12"].length_ratio == 12 / 25
    assert "1-5 words: 1 sentences, BLEU 100.00, chrF 100.00, length ratio 1.00" in str(scores)
