"""Tests that commands, links and paths in the README and the other documents are valid."""

import re
import shlex
from pathlib import Path

import pytest
from torch.distributed.run import get_args_parser

from transformer.commands.train import parser
from transformer.values.sites import SITES

ROOT = Path(__file__).parents[2]
DOCUMENTS = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md")))
HOOKS = (ROOT / "docs/hooks.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["README.md", "docs/hooks.md", "docs/library.md"])
def test_python_examples_run_and_print_the_documented_output(name, capsys):
    """All examples in a document share one namespace. The text block after an example is the expected output."""
    found = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", (ROOT / name).read_text("utf-8"), re.DOTALL)
    names = {}
    for code, expected in found:
        exec(compile(code, name, "exec"), names)
        printed = capsys.readouterr().out
        assert printed and printed == (expected or printed)


def test_hook_guide_lists_every_hook_site_with_its_shape():
    rows = re.findall(r"^\| (`\w+\.\w+`.*) \| (\[.*\]) \| (.*) \|$", HOOKS, re.MULTILINE)
    listed = {site.strip("`"): (shape, value) for sites, shape, value in rows for site in sites.split(", ")}
    assert listed == SITES


def test_readme_has_at_most_150_lines():
    assert len(README.splitlines()) <= 150


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_and_paths_in_the_documents_exist(document):
    text = document.read_text(encoding="utf-8")
    for path, heading in re.findall(r"\]\((?!http)([^)#]+)#?([^)]*)\)", text):
        target = document.parent / path
        assert target.exists(), path
        headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE) if heading else []
        assert not heading or heading in [each.lower().replace(" ", "-") for each in headings], heading
    for path in re.findall(r"`((?:pages|transformer|assets)/[\w/.-]+)`", text):
        assert (ROOT / path).exists() or "NAME" in path, path


def test_documented_torchrun_commands_are_valid():
    # Without "--", torchrun reads --run as an abbreviation of one of its own options and rejects it.
    text = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("training.md", "deployment.md"))
    commands = re.findall(r"torchrun (-[^`\n]+)", text.replace("\\\n", " "))
    assert len(commands) == 2
    for command in commands:
        options = get_args_parser().parse_args(shlex.split(command))
        assert options.module and options.training_script == "transformer.training"
        trained = parser("").parse_args(options.training_script_args)
        assert trained.run == Path("runs/mine") and trained.micro_batches % int(options.nproc_per_node) == 0
