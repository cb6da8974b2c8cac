"""Tests of the Fourier spectrum of embeddings, on waves of known frequencies."""

import numpy as np
import pytest
import torch

from transformer.tasks.config import TaskConfig
from transformer.tasks.spectrum import fourier_spectrum, largest
from transformer.tasks.task import FIRST_ID
from transformer.tasks.trainer import TaskTrainer


@pytest.mark.parametrize("modulus", [5, 53, 113])
def test_spectrum_of_waves_is_zero_except_at_their_frequencies(modulus):
    numbers = np.arange(modulus)
    wave = 2 * np.pi * numbers / modulus
    # The columns are a cosine and a sine of frequency 2, a constant (not a wave), and a shifted sine of frequency 1.
    embedding = np.stack([3 * np.cos(2 * wave), 4 * np.sin(2 * wave), np.full(modulus, 7.0), np.sin(wave + 1)], axis=1)
    found = fourier_spectrum(embedding)
    assert found.shape == (modulus // 2,)
    expected = np.zeros(modulus // 2)
    # A wave of amplitude A over p numbers has the norm A * sqrt(p / 2).
    expected[[0, 1]] = np.array([1, 5]) * np.sqrt(modulus / 2)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_spectrum_matches_the_numpy_fourier_transform():
    """numpy's transform has positive and negative frequencies, so the test adds the powers of each pair."""
    embedding = np.random.default_rng(0).normal(size=(53, 8))
    both = np.abs(np.fft.fft(embedding, axis=0)) ** 2 / 53
    expected = [np.sqrt((both[k] + both[53 - k]).sum()) for k in range(1, 27)]
    found = fourier_spectrum(embedding)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    # Parseval's theorem: the squares of the spectrum add up to the squared deviations of the embedding from its mean.
    np.testing.assert_allclose((found**2).sum(), ((embedding - embedding.mean(axis=0)) ** 2).sum(), rtol=1e-12)


def test_spectrum_does_not_depend_on_the_phase():
    embedding = np.random.default_rng(1).normal(size=(53, 8)).astype(np.float32)
    np.testing.assert_allclose(fourier_spectrum(np.roll(embedding, 5, axis=0)), fourier_spectrum(embedding), rtol=1e-6)


def test_largest_frequencies_and_their_share_of_the_power_match_known_values():
    spectrum = np.array([1, 3, 0, 2, 1, 0.5, 2, 0])
    assert largest(spectrum) == ([1, 2, 4, 5, 7], pytest.approx(19 / 19.25))


def test_snapshot_contains_the_spectrum_of_the_number_embeddings():
    config = TaskConfig(task="modular", d_model=8, items=8, steps=1, snapshots=1)
    trainer = TaskTrainer(config)
    with torch.no_grad():
        table = trainer.model.target_embedding.weight
        table.zero_()
        wave = torch.arange(59) * (2 * torch.pi * 3 / 59)
        table[FIRST_ID : FIRST_ID + 59, 0] = torch.cos(wave)
    trainer._take_snapshot()
    found = trainer.snapshots[-1].spectrum
    assert found.shape == (29,) and found.dtype == np.float32 and found.argmax() == 2
    np.testing.assert_allclose(np.delete(found, 2), 0, atol=1e-5)
    assert TaskTrainer(TaskConfig(task="copy", d_model=8, steps=1)).snapshots[0].spectrum is None
