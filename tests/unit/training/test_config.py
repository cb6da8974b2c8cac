import math

import pytest

from transformer.training.config import TrainConfig


def test_default_training_config_has_the_size_of_the_shipped_model():
    config = TrainConfig().model(8000)
    assert (config.d_model, config.heads, config.d_ff) == (256, 8, 1024)
    assert (config.encoder_layers, config.decoder_layers) == (6, 6)
    assert config.norm == "pre" and config.tied_embeddings == "all"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": 0}, "--steps must be at least 1, not 0"),
        ({"learning_rate": 0.0}, "--learning-rate must be above 0"),
        ({"learning_rate": math.inf}, "--learning-rate must be a finite number, not inf"),
        ({"clip": math.nan}, "--clip must be a finite number, not nan"),
        ({"cooldown": 1.5}, "--cooldown must be at most 1"),
        ({"dropout": 1.0}, "--dropout must be below 1"),
        ({"label_smoothing": -0.1}, "--label-smoothing must be at least 0"),
        ({"average": 0}, "--average"),
        ({"seed": -1}, "--seed"),
        ({"layers": 10**30}, "--layers must be at most 1000, not 10{30}"),
        ({"seed": 10**30}, "--seed must be at most 2147483647, not 10{30}"),
        ({"d_ff": 10**400}, "--d-ff must be at most 2147483647"),
        ({"steps": 10**400}, "--steps must be at most 2147483647"),
        ({"learning_rate": 1e39}, r"--learning-rate must be at most 1e\+30, not 1e\+39"),
        ({"steps": 100, "warmup": 100_000}, r"--warmup must be at most --steps \(100\), not 100000"),
    ],
)
def test_values_out_of_range_are_reported(change, message):
    with pytest.raises(ValueError, match=message):
        TrainConfig(**change)
