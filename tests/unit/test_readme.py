"""The README's promises, as far as they can be run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from torch.distributed.run import get_args_parser

from transformer.commands.train import parser

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_its_python_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    exec(code, {})
    assert "(6, 8, " in capsys.readouterr().out


def test_what_it_names_is_there():
    for path, heading in re.findall(r"\]\((?!http)([^)#]+)#?([^)]*)\)", README):
        assert (ROOT / path).exists(), path
        headings = re.findall(r"^#+ (.+)$", (ROOT / path).read_text(), re.MULTILINE) if heading else []
        assert not heading or heading in [each.lower().replace(" ", "-") for each in headings], heading
    for path in re.findall(r"`((?:pages|transformer|assets)/[\w/.-]+)`", README):
        assert (ROOT / path).exists(), path


def test_torchrun_takes_its_commands():
    # Without the "--" torchrun takes --run for an abbreviation of its own options, and refuses it.
    deployment = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8").replace("\\\n", " ")
    commands = re.findall(r"torchrun (-[^`\n]+)", README + deployment)
    assert len(commands) == 2
    for command in commands:
        options = get_args_parser().parse_args(shlex.split(command))
        assert options.module and options.training_script == "transformer.training"
        trained = parser("").parse_args(options.training_script_args)
        assert trained.run == Path("runs/mine") and trained.micro_batches % int(options.nproc_per_node) == 0
