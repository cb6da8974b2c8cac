"""One plain-English explanation for each stage of the backward pass. Pure."""

from __future__ import annotations

# Each dictionary key is a stage's full key, or the last part of the key for all such stages.
SENTENCES = {
    "logits": "The gradient at each token's logit is its probability p; for the correct token, p − 1.",
    "generator.bias": "The bias of a token shifts its logit at every step, so its gradient is the sum over all steps.",
    "generator.weight": "A token's weights are pushed away from the outputs at which it was too likely.",
    "generator.hidden": "How the loss depends on the decoder's output: a step against this gradient makes the correct "
    "tokens more likely.",
    "table": "A token's embedding collects gradient from every use: as an input, and as output weights when logits are "
    "computed.",
    "tokens": "The embedding was multiplied by √D on the way in, so its gradient is multiplied by √D on the way back.",
    "positions": "A learned position is added to the embedding, so both get the same gradient.",
    "memory": "Every decoder layer looked at the encoder's output, so the gradients from all of them are added up.",
    "gain": "The gain of the norm multiplies each dimension at every position, so its gradient is a sum of products "
    "over all positions.",
    "shift": "The bias of the norm is added at every position, so its gradient is a sum over all positions.",
    "norm": "The norm removes the mean and the size of a vector, so nothing flows back along these two directions.",
    "summed": "The norm removes the mean and the size of a vector, so nothing flows back along these two directions.",
    "residual": "There are two ways back: past the sub-layer, unchanged, and through it. The two gradients are added.",
    "contract": "A weight's gradient is what went in times what comes back, added up over all positions.",
    "contract_bias": "A bias is added at every position, so its gradient is the sum of what comes back.",
    "hidden": "What comes back passes through the second matrix, transposed.",
    "expanded": "What comes back is multiplied by the slope of the activation: where that was flat, nothing gets "
    "through.",
    "expand": "A weight's gradient is what went in times what comes back, added up over all positions.",
    "expand_bias": "A bias is added at every position, so its gradient is the sum of what comes back.",
    "read": "How the loss depends on the sub-layer's input.",
    "output": "A weight's gradient is what went in times what comes back, added up over all positions.",
    "output_bias": "A bias is added at every position, so its gradient is the sum of what comes back.",
    "joined": "What comes back passes through the output projection, transposed, to all heads at once.",
    "outputs": "On the way in, the heads were joined; on the way back they are split, and each gets its own K numbers.",
    "values": "What was looked at shares the blame: a value collects from every query, in proportion to its weight.",
    "weights": "A weight counts as much as the value it picks agrees with what comes back: their dot product.",
    "scores": "Softmax always hands out 1 in all, so a weight can only grow at the expense of others: each row adds up "
    "to 0.",
    "queries": "A query is pulled towards the keys whose scores should grow.",
    "keys": "A key is pulled towards the queries that should look at it more.",
    "queries_weight": "The gradient of the head's W^Q: what went in times what comes back, added up over all "
    "positions.",
    "keys_weight": "The gradient of the head's W^K: what went in times what comes back, added up over all positions.",
    "values_weight": "The gradient of the head's W^V: what went in times what comes back, added up over all positions.",
    "queries_bias": "A bias is added at every position, so its gradient is the sum of what comes back.",
    "keys_bias": "Always 0 unless keys are turned by their position: this bias adds the same amount to all scores of a "
    "row, which leaves the softmax unchanged.",
    "values_bias": "A bias is added at every position, so its gradient is the sum of what comes back.",
    "after": "What the layers above send back to this one.",
    "input": "What the layers above send back to the embeddings.",
}


def sentence_of(key: str) -> str:
    """Return the explanation for a stage's key."""
    return SENTENCES.get(key) or SENTENCES[key.rpartition(".")[2]]
