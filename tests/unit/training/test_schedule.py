import pytest

from transformer.training.schedule import trapezoid


def test_learning_rate_rises_stays_constant_and_falls():
    factors = [trapezoid(step, steps=100, warmup=10, cooldown=0.2) for step in range(100)]
    assert factors[0] == pytest.approx(0.1) and factors[9] == 1.0
    assert set(factors[9:81]) == {1.0}
    assert factors[90] == pytest.approx(0.5) and factors[99] == pytest.approx(0.05)
    assert trapezoid(100, steps=100, warmup=10, cooldown=0.2) == 0


def test_learning_rate_without_warmup_and_cooldown_is_constant():
    assert all(trapezoid(step, steps=5, warmup=0, cooldown=0.0) == 1 for step in range(5))
