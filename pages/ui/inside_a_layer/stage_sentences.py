"""A pure function that explains each stage of the model in one or two plain sentences."""

from collections.abc import Mapping

from transformer.text.languages import Languages

# Each key is a stage's full key, or the ending that several stages' keys have in common. Letters in braces stand for
# sizes, {source} and {target} for the language names, and {tokens} for the number of tokens without the end symbol.
SENTENCES = {
    "encoder.pieces": "The {source} sentence is cut into {tokens}, and the end symbol follows. Each of these {S} "
    "tokens is replaced by its vocabulary ID.",
    "decoder.pieces": "The {target} sentence so far: the decoder begins with a start symbol and reads its own output.",
    "tokens": "Each token is looked up in a table, which contains {D} numbers for it. The table is learned in "
    "training.",
    "scaled": "Each token's numbers are multiplied by √{D}, so that the positions added next do not drown them out.",
    "positions": "Each position in the sentence has its own {D} numbers, so that “dog bites man” differs from “man "
    "bites dog”.",
    "input": "The numbers for a token's meaning and for its position are added. The first layer reads the sums.",
    "self_attention.stream": "The layer's input: {D} numbers for each token. Each sub-layer adds to them.",
    "norm": "The numbers of each token are brought to a common size, so that no step gets values that are too large or "
    "too small.",
    "encoder.self_attention.queries": "Each token asks a question: {K} numbers that say what this head wants to find.",
    "encoder.self_attention.keys": "Each token carries a label: {K} numbers that say which questions it answers.",
    "encoder.self_attention.values": "Each token prepares {K} numbers for the tokens that will look at it.",
    "encoder.self_attention.raw_scores": "Each question is compared with each label: the better they match, the larger "
    "the number.",
    "encoder.self_attention.masked_scores": "Each token sees all {source} tokens, so the mask hides nothing here.",
    "decoder.self_attention.queries": "Each {target} token asks a question: {K} numbers that say what this head wants "
    "to find.",
    "decoder.self_attention.keys": "Each {target} token carries a label: {K} numbers that say which questions it "
    "answers.",
    "decoder.self_attention.values": "Each {target} token prepares {K} numbers for the tokens that will look at it.",
    "decoder.self_attention.raw_scores": "Each token's question is compared with every token's label, even with the "
    "labels of later tokens.",
    "decoder.self_attention.masked_scores": "Later tokens are crossed out: the model must not see the word that it is "
    "about to write.",
    "cross_attention.queries": "Each {target} token asks the {source} sentence a question: {K} numbers that say what "
    "it needs next.",
    "cross_attention.keys": "Each {source} token carries a label: {K} numbers, computed from the encoder's result.",
    "cross_attention.values": "Each {source} token prepares {K} numbers for the {target} tokens that will look at it.",
    "cross_attention.raw_scores": "The question of each {target} token is compared with the label of each "
    "{source} token.",
    "cross_attention.masked_scores": "All of the {source} sentence is known, so the mask hides nothing here.",
    "unturned_queries": "{K} numbers that say what this head wants to find. They do not yet contain the token's "
    "position.",
    "unturned_keys": "{K} numbers that say which questions a token answers. They do not yet contain its position.",
    "biases": "This model adds no positional encoding. Instead, each score decreases with the "
    "distance between the two tokens, at a rate that depends on the head.",
    "scores": "All scores are divided by √{K}, because with large numbers the next step would leave only one winner.",
    "weights": "Each row becomes weights that add up to 1 and say where this head looks. The attention pages show them "
    "as a map.",
    "head": "Each token adds up the numbers prepared by the tokens it looks at, in proportion to their weights.",
    "heads": "The outputs of the {H} heads of the layer are put side by side: {D} numbers again.",
    "self_attention.written": "For each token, a learned matrix mixes the outputs of the heads into {D} new numbers.",
    "cross_attention.written": "A learned matrix mixes what the heads found in the {source} sentence.",
    "residual": "The new numbers are added to the token's earlier numbers. Nothing is overwritten, so later steps can "
    "still use all earlier results.",
    "hidden": "This step works on each token separately: {F} detectors look at it, and those that find nothing stay "
    "silent.",
    "feed_forward.written": "The results of the detectors are turned back into {D} numbers for each token.",
    "encoder.output": "The encoder's result: {D} numbers for each {source} token, which by now reflect the whole "
    "sentence.",
    "decoder.output": "The decoder's result: {D} numbers at each step, from which the next token can be read.",
    "generator.logits": "Each of the {V} tokens in the vocabulary gets a number: how well it fits as the next token.",
    "generator.probabilities": "The numbers become probabilities: at each step they add up to 1 over all {V} tokens.",
    "generator.words": "The most likely token at each step: what the model would write next.",
}
# Explanations for a language model, which has one stack and one text.
SENTENCES_OF_ONE_TEXT = SENTENCES | {
    "decoder.pieces": "The text is cut into tokens, and each token is replaced by its vocabulary ID. With the "
    "start symbol at the beginning, there are {T} tokens.",
    **{
        f"decoder.self_attention.{name}": SENTENCES[f"encoder.self_attention.{name}"]
        for name in ("queries", "keys", "values")
    },
    "weights": "Each row becomes weights that add up to 1 and say where this head looks. The “Language model” page "
    "shows them as a map.",
    "decoder.output": "The last layer's result: {D} numbers for each token, from which the next token can be read.",
    "generator.logits": "The output table, usually the token table again, has a row for each of the {V} tokens. Each "
    "row yields a number that says how well its token fits as the next token.",
}


def plain_sentence(key: str, sizes: Mapping[str, int], heads: int, languages: Languages | None) -> str:
    """Return the explanation of a stage.

    Args:
        key: the key of the stage.
        sizes: the size that each letter of a shape stands for.
        heads: the number of heads in a layer.
        languages: the model's source and target languages; None for a language model.
    """
    parts = key.split(".")
    sentences = SENTENCES if languages else SENTENCES_OF_ONE_TEXT
    sentence = next(
        sentences[name] for name in (".".join(parts[index:]) for index in range(len(parts))) if name in sentences
    )
    names = {"source": languages.source.name, "target": languages.target.name} if languages else {}
    tokens = sizes.get("S", 1) - 1
    return sentence.format(
        **names,
        tokens=f"{tokens:,} {'token' if tokens == 1 else 'tokens'}",
        **{letter: f"{size:,}" for letter, size in {**sizes, "H": heads}.items()},
    )
