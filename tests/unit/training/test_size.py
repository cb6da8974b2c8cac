import pytest

from transformer.model.parameter_counts import parameter_table
from transformer.training.config import TrainConfig
from transformer.training.size import check_size, parameters


@pytest.mark.parametrize(
    "sizes",
    [{"d_model": 16, "heads": 2, "layers": 1, "d_ff": 40}, {"d_model": 24, "heads": 3, "layers": 4, "d_ff": 8}, {}],
    ids=str,
)
def test_estimated_size_matches_the_size_of_a_model(sizes):
    for config in (TrainConfig(**sizes).model(300), TrainConfig(**sizes).language_model(300, 50)):
        assert parameters(config) == sum(count for _, count in parameter_table(config))


def test_error_about_a_model_that_exceeds_memory_gives_needed_and_free_memory():
    config = TrainConfig(layers=1000, d_model=2**20).model(8000)
    check_size(config, None)
    small = TrainConfig(d_model=2, heads=1, layers=1, d_ff=1).model(1)
    check_size(small, 12 * parameters(small))
    with pytest.raises(ValueError, match="at least 158381616.7 GB of memory .* has 1.0 GB free: choose a smaller"):
        check_size(config, 1_000_000_000)
    with pytest.raises(ValueError, match="needs at least"):
        check_size(small, 12 * parameters(small) - 1)
