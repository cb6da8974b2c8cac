"""A pure function that returns a short explanation of each stage of the backward pass."""

# Each key is a stage's full key, or a suffix that the keys of several stages share.
SENTENCES = {
    "logits": "The gradient at each token's logit is its probability p; for the correct token, p − 1.",
    "generator.bias": "A token's bias shifts the token's logit at every step, so its gradient is the sum of the "
    "logit's gradients.",
    "generator.weight": "A token's weights are pushed away from the outputs at which the token was too likely.",
    "generator.hidden": "This gradient shows how the loss depends on the decoder's output. A step against the gradient "
    "makes the correct tokens more likely.",
    "table": "A token's embedding collects gradient from every use: as an input, and as output weights when logits are "
    "computed.",
    "tokens": "The embedding was multiplied by √D on the way in, so its gradient is multiplied by √D on the way back.",
    "positions": "A learned position vector is added to the embedding, so its gradient is the gradient of the sum.",
    "memory": "Every decoder layer looked at the encoder's output, so the gradients from all of them are added up.",
    "gain": "The gain of the norm multiplies each normalised number. The gain's gradient is the normalised number "
    "times the gradient of the norm's output, added up over all positions.",
    "shift": "The bias of the norm is added at every position, so its gradient is the sum of the output's gradients "
    "at all positions.",
    "norm": "The norm removes a vector's mean and length. No gradient flows back in the directions that change "
    "only the mean or only the length.",
    "summed": "The norm removes a vector's mean and length. No gradient flows back in the directions that change "
    "only the mean or only the length.",
    "residual": "The gradient flows back along two paths: unchanged past the sub-layer, and through it. The two "
    "gradients are added.",
    "contract": "A weight's gradient is its input times the gradient of its output, added up over all positions.",
    "contract_bias": "A bias is added at every position, so its gradient is the sum of the output's gradients "
    "at all positions.",
    "hidden": "The gradient of the feed-forward network's output is multiplied by the transposed second matrix.",
    "expanded": "The gradient of the activation function's output is multiplied by the function's slope: where the "
    "function is flat, nothing gets through.",
    "expand": "A weight's gradient is its input times the gradient of its output, added up over all positions.",
    "expand_bias": "A bias is added at every position, so its gradient is the sum of the output's gradients "
    "at all positions.",
    "read": "This gradient shows how the loss depends on the sub-layer's input.",
    "output": "A weight's gradient is its input times the gradient of its output, added up over all positions.",
    "output_bias": "A bias is added at every position, so its gradient is the sum of the output's gradients "
    "at all positions.",
    "joined": "The gradient of the output is multiplied by the transposed output projection, for all heads at once.",
    "outputs": "The forward pass joined the heads' outputs. The backward pass splits the gradient into K numbers per "
    "head.",
    "values": "A value collects gradient from every query that looks at it, in proportion to the attention weight.",
    "weights": "An attention weight's gradient is the dot product of the value that it multiplies and the gradient "
    "of the head's output.",
    "scores": "The weights of a row always sum to 1, so one can only grow at the expense of the others: each row of "
    "this gradient adds up to 0.",
    "queries": "A query is pulled towards the keys whose scores should grow.",
    "keys": "A key is pulled towards the queries that should look at it more.",
    "queries_weight": "The gradient of the head's W^Q: the input times the gradient of the queries, added up over all "
    "positions.",
    "keys_weight": "The gradient of the head's W^K: the input times the gradient of the keys, added up over all "
    "positions.",
    "values_weight": "The gradient of the head's W^V: the input times the gradient of the values, added up over all "
    "positions.",
    "queries_bias": "A bias is added at every position, so its gradient is the sum of the output's gradients "
    "at all positions.",
    "keys_bias": "This bias adds the same amount to all scores of a row, which leaves the softmax unchanged. Its "
    "gradient is therefore always 0, unless keys are rotated by position.",
    "values_bias": "A bias is added at every position, so its gradient is the sum of the output's gradients "
    "at all positions.",
    "after": "The layers above send this gradient back to this layer.",
    "input": "The layers send this gradient back to the embeddings.",
}


def sentence_of(key: str) -> str:
    """Return the explanation of the stage with the given key."""
    return SENTENCES.get(key) or SENTENCES[key.rpartition(".")[2]]
