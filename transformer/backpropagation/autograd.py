"""Computes the gradients with torch's autograd in float64, to check the hand-written backward pass."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.backpropagation.gradients import LossInputs
from transformer.config import TransformerConfig
from transformer.model.recorder import Recorder
from transformer.model.skipped_initialisation import SkippedInitialisation
from transformer.model.transformer import Transformer
from transformer.values.trace import DETAILS, PARTS, SIDES


@dataclass(frozen=True, eq=False)
class AutogradResult:
    """Loss and gradients as in `transformer.backpropagation.gradients.Gradients`, computed by torch."""

    loss: float
    gradients: Mapping[str, np.ndarray]
    parameters: Mapping[str, np.ndarray]


def autograd(parameters: Mapping[str, np.ndarray], config: TransformerConfig, batch: LossInputs) -> AutogradResult:
    """Compute loss and gradients with torch, on a float64 copy of the model.

    Hooks are registered on the copy, so other model runs are not affected.

    Args:
        parameters: parameters by name, float64; a shared parameter has one entry.
        config: model configuration.
        batch: inputs of the loss.
    """
    model = float64_model(parameters, config, max(batch.source.shape[1], batch.target.shape[1]))
    activations: dict[str, Tensor] = {}
    for name, module in model.named_modules():
        if not any(module.children()):
            module.register_forward_hook(_keep(activations, name))
    record = Recorder(details=True)
    with torch.enable_grad():
        source, target = torch.from_numpy(batch.source), torch.from_numpy(batch.target)
        mask = None if batch.source_mask is None else torch.from_numpy(batch.source_mask)
        memory = model.encode(source, mask, record=record)
        hidden = model.decode(target, memory, mask, record=record)
        logits = model.generator(hidden)
        counts = torch.from_numpy(batch.counted)
        loss = F.cross_entropy(
            logits[counts],
            torch.from_numpy(batch.labels)[counts],
            label_smoothing=batch.label_smoothing,
            reduction="sum",
        )
        points = {"memory": memory, "hidden": hidden, "logits": logits, **_points(activations, record, config)}
        leaves = dict(model.named_parameters())
        gradients = torch.autograd.grad(
            loss, [*points.values(), *leaves.values()], allow_unused=True, materialize_grads=True
        )
    arrays = [gradient.numpy() for gradient in gradients]
    return AutogradResult(
        loss.item(),
        dict(zip(points, arrays[: len(points)], strict=True)),
        dict(zip(leaves, arrays[len(points) :], strict=True)),
    )


def float64_model(parameters: Mapping[str, np.ndarray], config: TransformerConfig, length: int) -> Transformer:
    """Build a model with the given parameters, in float64 and evaluation mode.

    Args:
        parameters: parameters by name; a shared parameter has one entry.
        config: model configuration.
        length: number of positions for which to compute positional encodings in float64.
    """
    with SkippedInitialisation():
        model = Transformer(config).double().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(parameters[name]))
    for positions in (model.source_positions, model.target_positions):
        if not positions.encoding.learned:
            positions.compute(length, torch.float64)
    return model


def _points(activations: Mapping[str, Tensor], record: Recorder, config: TransformerConfig) -> dict[str, Tensor]:
    """Collect the intermediate results of encoder and decoder, under the names that `transformer.backpropagation` uses.

    Args:
        activations: inputs and outputs of modules, by name.
        record: recorder of the model run that filled `activations`.
        config: model configuration.
    """
    points = {}
    for stack, side in SIDES.items():
        points[f"{side}.tokens"] = activations[f"{side}_embedding.output"]
        points[f"{side}.summed"] = activations[f"{side}_norm.input"]
        points[f"{side}.input"], *after = record.tensors[f"{stack}.residual"]
        for number, stream in enumerate(after):
            layer, part = divmod(number, len(PARTS[stack]))
            name = f"{stack}_layers.{layer}.{PARTS[stack][part]}"
            points[f"{name}.after"] = stream
            if config.norm == "pre":
                points[f"{name}.read"] = activations[f"{name}_residual.norm.output"]
            else:
                points[f"{name}.summed"] = activations[f"{name}_residual.norm.input"]
            if PARTS[stack][part] == "feed_forward":
                points[f"{name}.expanded"] = activations[f"{name}.expand.output"]
                points[f"{name}.hidden"] = activations[f"{name}.contract.input"]
                points[f"{name}.written"] = activations[f"{name}.contract.output"]
                continue
            kind = "cross" if PARTS[stack][part] == "cross_attention" else stack
            points |= {f"{name}.{each}": record.tensors[f"{kind}.{each}"][layer] for each in ("weights", *DETAILS)}
            points[f"{name}.joined"] = activations[f"{name}.out_projection.input"]
            points[f"{name}.written"] = activations[f"{name}.out_projection.output"]
    return points


def _keep(activations: dict[str, Tensor], name: str) -> Callable[[nn.Module, tuple[Tensor, ...], Tensor], None]:

    def hook(_: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        activations[f"{name}.input"], activations[f"{name}.output"] = inputs[0], output

    return hook
