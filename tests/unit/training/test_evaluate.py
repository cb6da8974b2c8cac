import torch

from transformer.checkpoints.checkpoint import load_checkpoint
from transformer.decoding.beam import beam_search
from transformer.decoding.constraints import Constraints
from transformer.decoding.greedy import greedy
from transformer.decoding.hypotheses import hypotheses
from transformer.training.evaluate import BLEU, evaluate, score, translate_all

TEXTS = ["The old man reads a book in the garden.", "I have a dream.", "Where did you learn it?", "The dog."]


def test_translations_are_in_sentence_order(model_folder):
    """Covers greedy decoding and beam search, in batches of mixed lengths."""
    checkpoint = load_checkpoint(model_folder)
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    constraints = Constraints(spelling=tokenizer.spelling)
    for beam in (1, 3):
        expected = []
        for text in TEXTS:
            source = torch.tensor([tokenizer.encode_ids(text)])
            real = torch.ones_like(source, dtype=torch.bool)
            # The longest sentence sets the limit for the whole batch.
            limit = 2 * max(len(tokenizer.encode_ids(each)) for each in TEXTS) + 10
            with torch.inference_mode():
                cache = model.start_cache(model.encode(source, real), real)
                if beam == 1:
                    tokens = [
                        int(step.predicted) for step in greedy(model, cache, limit=limit, constraints=constraints)
                    ]
                else:
                    steps = beam_search(model, cache, beam_size=beam, limit=limit, constraints=constraints)
                    tokens = hypotheses(steps, 1)[0][0].tokens
            expected.append(tokenizer.decode(tokens))
        assert translate_all(model, tokenizer, TEXTS, "cpu", beam=beam) == expected


def test_evaluation_scores_include_pairs_with_an_empty_side(model_folder, tmp_path):
    """sacrebleu also counts pairs with an empty side."""
    file = tmp_path / "pairs.tsv"
    file.write_text("The dog.\tDer Hund.\n\tDie Katze schläft hier.\nI have a dream.\t\n", encoding="utf-8")
    scores = evaluate(model_folder, file, device="cpu")
    checkpoint = load_checkpoint(model_folder)
    first, last = translate_all(checkpoint.model, checkpoint.tokenizer, ["The dog.", "I have a dream."], "cpu")
    expected = BLEU.corpus_score([first, "", last], [["Der Hund.", "Die Katze schläft hier.", ""]])
    assert (scores.sentences, scores.empty_sources, scores.empty_targets) == (3, 1, 1)
    assert scores.bleu == expected.score and "empty_sources: 1" in str(scores)


def test_scores_are_grouped_by_source_length():
    pairs = [("a b c", "eins zwei drei vier"), ("a " * 6, "sechs Wörter sind es hier"), ("a " * 50, "zu lang")]
    scores = score(["eins zwei drei vier", "sechs Wörter", "zu lang"], pairs)
    assert list(scores.by_length) == ["1-5", "6-12"] and scores.sentences == 3
    assert scores.by_length["1-5"].chrf == 100 and scores.by_length["1-5"].length_ratio == 1
    assert scores.by_length["6-12"].length_ratio == 12 / 25
    assert "1-5 words: 1 sentences, BLEU 100.00, chrF 100.00, length ratio 1.00" in str(scores)
