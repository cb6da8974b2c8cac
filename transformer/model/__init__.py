"""The model of "Attention Is All You Need" (Vaswani et al. 2017).

Read the modules in this order:

1. `attention`: scaled dot-product and multi-head attention (sections 3.2.1 and 3.2.2), with `masks` (3.2.3);
2. `layers`: the feed-forward network (3.3), residual connections, layer norm (3.1), and encoder and decoder layers;
3. `positions` and `encodings`: positional encodings (3.5);
4. `transformer`: embeddings (3.4), the two stacks (figure 1), and the logits.

Letters in shapes: B texts, T queries, S keys, D model width, H heads, K head width, F feed-forward width,
V vocabulary, P positions in the cache. Other modules are for decoding (`kv_cache`), long texts (`attention_variants`),
hooks and interventions (`hooks`, `edits`, `recorder`), and speed on a CPU (`fast`).
"""
