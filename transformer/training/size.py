"""Computes a model's size without building the model, and checks that memory suffices for training."""

from transformer.checkpoints.memory import gigabytes
from transformer.config import TransformerConfig

# Memory for training, in bytes per parameter: float32 value,
# gradient and Muon's momentum. AdamW stores one more number.
BYTES = 12


def parameters(config: TransformerConfig) -> int:
    """Return the number of parameters in a model trained by `transformer.training`.

    The model must be pre-norm, with one embedding table shared by all inputs and outputs.
    """
    d_model, d_ff = config.d_model, config.d_ff
    attention, norm = 4 * d_model * (d_model + 1), 2 * d_model
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    total = config.target_vocabulary * (d_model + config.output_bias)
    for kind in config.kinds:
        total += config.layers_of(kind) * (attention + norm)
    for layers in (config.encoder_layers, config.decoder_layers):
        total += layers * (feed_forward + norm) + (norm if layers else 0)
    return total + (config.position_limit or 0) * d_model


def check_size(config: TransformerConfig, available: int | None) -> None:
    """Check that this machine has enough memory to train a model.

    Args:
        config: configuration of the model.
        available: available memory in bytes; None if unknown.

    Raises:
        ValueError: the model needs more memory; the message states the required and the available memory.
    """
    count = parameters(config)
    if available is not None and count * BYTES > available:
        raise ValueError(
            f"a model of {count:,} parameters needs at least {gigabytes(count * BYTES)} of memory for training, but "
            f"this machine has {gigabytes(available)} free: choose a smaller --d-model or --d-ff, or fewer --layers"
        )
