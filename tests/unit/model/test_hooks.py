import torch

from transformer.model.edits import UNEDITED, Edits
from transformer.model.hooks import Hooks, hooks_of
from transformer.model.recorder import Recorder
from transformer.values.interventions import AS_TRAINED


def test_hooks_record_values_after_applying_edits():
    record = Recorder(details=True)
    edits = Edits((AS_TRAINED,), gates={"cross": torch.tensor([[[1.0, 1.0], [0.5, 1.0]]])})
    hooks = Hooks(edits, record, "decoder", layer=1).of_attention("cross")
    outputs = torch.ones(1, 2, 3, 4)
    changed = hooks.at("outputs", outputs)
    assert (changed[:, 0] == 0.5).all() and (changed[:, 1] == 1).all() and (outputs == 1).all()
    assert record.tensors["cross.outputs"][0] is changed


def test_edit_of_one_layer_does_not_change_another_layer():
    edits = Edits((AS_TRAINED,), gates={"decoder": torch.tensor([[[1.0, 1.0], [0.5, 1.0]]])})
    outputs = torch.rand(1, 2, 3, 4)
    hooks = hooks_of(edits, None, "decoder").of_layer(0)
    assert torch.equal(hooks.at("outputs", outputs), outputs)


def test_run_without_edits_or_recording_passes_values_through_hooks_unchanged():
    x = torch.rand(1, 3, 4)
    hooks = hooks_of(UNEDITED, None, "encoder")
    assert hooks.at("residual", x) is x and not hooks.need_weights
    assert hooks.of_layer(1) is hooks_of(UNEDITED, None, "decoder").of_attention("cross")
