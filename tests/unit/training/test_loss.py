import torch
import torch.nn.functional as F

from transformer.config import TransformerConfig
from transformer.model.transformer import build
from transformer.text.tokenizer import PAD
from transformer.training.batching import Batch
from transformer.training.loss import PADDING_MULTIPLE, SummedLoss, positions_to_predict


def test_every_token_except_padding_is_counted_once_in_the_loss():
    predicted = torch.tensor([[5, 6, PAD, PAD], [7, PAD, PAD, PAD]])
    positions, labels = positions_to_predict(predicted)
    real = labels != PAD
    assert positions[real].tolist() == [0, 1, 4] and labels[real].tolist() == [5, 6, 7]


def test_number_of_loss_positions_is_rounded_up_to_a_fixed_multiple():
    predicted = torch.full((20, 40), PAD)
    predicted[:, :17] = 5
    positions, labels = positions_to_predict(predicted)
    assert len(positions) == 2 * PADDING_MULTIPLE and int((labels != PAD).sum()) == 340


def test_loss_matches_pytorch_cross_entropy():
    torch.manual_seed(0)
    config = TransformerConfig(
        source_vocabulary=20, target_vocabulary=20, d_model=16, heads=2, encoder_layers=1, decoder_layers=1, d_ff=16
    )
    model = build(config).eval()
    source, predicted = torch.randint(4, 20, (3, 6)), torch.randint(4, 20, (3, 6))
    predicted[1, 4:] = PAD
    target = torch.randint(4, 20, (3, 6))
    expected = F.cross_entropy(
        model(source, target).flatten(0, 1), predicted.flatten(), ignore_index=PAD, label_smoothing=0.1, reduction="sum"
    )
    actual = SummedLoss(model, label_smoothing=0.1)(Batch(source, target, predicted))
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-4)
