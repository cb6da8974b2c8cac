from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from tests.conftest import EACH_SHAPE, perturbed, translator_of
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.config import decoder_only
from transformer.language_modelling.tracing import trace_text
from transformer.model.recorder import Recorder
from transformer.model.transformer import Transformer, build
from transformer.values.trace import Trace
from transformer.values.weights import Weights

# The first model has the options of GPT-2.
LANGUAGE_MODELS = {
    "language model": {"positions": "learned", "activation": "gelu_tanh"},
    "post language model": {"norm": "post", "positions": "sinusoidal", "scale_embedding": True},
    "plain language model": {"positions": "none", "activation": "silu", "scale_embedding": True},
}


@dataclass(frozen=True, eq=False)
class Replayed:
    """A translator or language model, with a trace that replay functions recompute."""

    model: Transformer
    weights: Weights
    trace: Trace

    def run_again(self) -> tuple[dict[str, Tensor], dict[str, Tensor], Tensor]:
        """Run the model's forward pass. Return the recorded tensors, the output of each stack, and the logits."""
        source, target = (
            torch.tensor([[token.id for token in tokens]])
            for tokens in (self.trace.source_tokens, self.trace.target_tokens)
        )
        record = Recorder(details=True)
        translates = "encoder" in self.trace.stacks
        memory = self.model.encode(source, None, record=record) if translates else None
        hidden = self.model.decode(target, memory, record=record)
        outputs = {"decoder": hidden} if memory is None else {"encoder": memory, "decoder": hidden}
        return record.tensors, outputs, self.model.generator(hidden)


@pytest.fixture(scope="session", params=[*EACH_SHAPE, *LANGUAGE_MODELS])
def replayed(request, tokenizer):
    if request.param not in LANGUAGE_MODELS:
        translator = translator_of(request.param, tokenizer)
        trace = translator.trace("The old man reads a book.", "Der alte Mann liest ein Buch.", details=True)
        return Replayed(translator._model, translator.weights(), trace)
    options = LANGUAGE_MODELS[request.param]
    torch.manual_seed(8)
    model = perturbed(build(decoder_only(vocabulary=tokenizer.size, d_model=24, heads=3, layers=3, d_ff=40, **options)))
    loaded = Checkpoint(model, tokenizer, version=request.param)
    return Replayed(model, loaded.weights(), trace_text(loaded, "The old man reads a book.")[1])
