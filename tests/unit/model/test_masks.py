import torch

from transformer.model.masks import causal_mask, padding_mask


def test_causal_mask_is_the_lower_triangle_with_its_diagonal():
    assert causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]


def test_padding_mask_hides_padding_from_all_heads_and_queries():
    mask = padding_mask(torch.tensor([[True, True, False], [True, False, False]]))
    assert mask.shape == (2, 1, 1, 3)
    assert mask.expand(2, 4, 5, 3)[1, 3, 4].tolist() == [True, False, False]
