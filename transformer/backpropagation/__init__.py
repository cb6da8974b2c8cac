"""The backward pass of a Transformer, written by hand: every step is a formula in numpy, without autograd.

Each part of the model is a pair of pure functions. `part(...)` returns the part's output and the values that the
backward pass needs. `part_backward(grad, saved)` computes the gradients of the inputs from the gradient of the output.
Source: Rumelhart, Hinton and Williams 1986, "Learning representations by back-propagating errors".

Read the modules in this order: `linear`, `softmax`, `attention`, `layer_norm`, `activations`, `feed_forward`,
`residual`, `embedding`, `cross_entropy`, then `layers` and `transformer`, which combine them, and `optimizers`.

All arrays are float64. Letters: B batch, S source tokens, T target tokens, H heads, D model width, K head width, F
feed-forward width, V vocabulary. dy is short for dL/dy, the gradient of the loss L with respect to y, and has the shape
of y.
"""
