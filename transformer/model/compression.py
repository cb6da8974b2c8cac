"""Shortens keys and values, so that attention to a long text takes less time and memory."""

import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.kv_cache import KeysAndValues


class Compression(nn.Module):
    """Merges each group of `stride` consecutive keys into one key, and each group of values into one value.

    Liu et al. 2018, "Generating Wikipedia by Summarizing Long Sequences", section 4.2.3, "memory-compressed attention",
    use a convolution with kernel width 3 and stride 3. The paper does not say whether the convolution mixes heads.
    This class uses separate kernels for each head, so heads do not mix.

    Args:
        d_model: width D.
        heads: number of heads H.
        stride: number of positions merged into one, which is also the kernel width.
    """

    def __init__(self, d_model: int, heads: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.keys = nn.Conv1d(d_model, d_model, stride, stride=stride, groups=heads)
        self.values = nn.Conv1d(d_model, d_model, stride, stride=stride, groups=heads)

    def forward(self, read: KeysAndValues) -> KeysAndValues:
        """Shorten keys and values of S positions to ceil(S / stride) positions.

        If `stride` does not divide S, the last group is zero-padded, and `compressed_mask` hides that group's key.
        """
        return KeysAndValues.of(self._shortened(self.keys, read.keys), self._shortened(self.values, read.values))

    def _shortened(self, convolution: nn.Conv1d, x: Tensor) -> Tensor:
        heads = x.shape[1]
        x = x.transpose(2, 3).flatten(1, 2)  # [B, H, S, K] -> [B, H, K, S] -> [B, D, S]
        x = convolution(F.pad(x, (0, -x.shape[-1] % self.stride)))  # [B, D, S] -> [B, D, C]
        return x.unflatten(1, (heads, -1)).transpose(2, 3)  # [B, D, C] -> [B, H, K, C] -> [B, H, C, K]
