"""Installs the project with `pip install '.[app]'` in an empty environment and uses it from another folder."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import transformer
from tests.browser.conftest import ROOT, running_server
from tests.browser.environment import programs_of_environment

pytestmark = pytest.mark.install

TEXT, TRANSLATION = "I have a dream.", "Ich habe einen Traum."
CORE, FILES = "attention-atlas", "from importlib.metadata import files"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the project in a new environment, and return the folder of its executables."""
    return programs_of_environment(tmp_path_factory, f"{ROOT}[app]")


@pytest.fixture
def run(programs: Path, tmp_path: Path) -> Callable[..., str]:
    """Return a function that runs an executable in an empty folder and returns the output."""

    def run(program: str, *arguments: str) -> str:
        done = subprocess.run(
            [programs / program, *arguments], cwd=tmp_path, capture_output=True, text=True, encoding="utf-8"
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run


def test_installation_adds_two_packages_and_a_command(run):
    code = f"{FILES}; print(*sorted({{each.parts[0] for each in files({CORE!r})}}))"
    _, *folders = run("python", "-c", code).split()
    assert folders == ["attention_atlas", f"attention_atlas-{transformer.__version__}.dist-info", "transformer"]


def test_models_are_packaged_as_a_separate_distribution(run):
    code = f"{FILES}; print(*{{each.parts[2] for each in files(%r) if 'assets' in each.parts}})"
    core, models = (set(run("python", "-c", code % name).split()) for name in (CORE, f"{CORE}-models"))
    assert models == {"models", "recorded_runs", "long_texts"}
    assert "attention_browser" in core and not core & models


def test_installation_does_not_change_the_checkout(programs):
    assert not (ROOT / "build").exists() and not list(ROOT.glob("*.egg-info"))


def test_library_translates_with_the_shipped_model(run):
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    assert run("python", "-c", code).startswith(TRANSLATION)
    code = f"import transformer; print(transformer.Translator.load().translate({TEXT!r}).text)"
    assert run("python", "-c", code) == f"{TRANSLATION}\n"


def test_installed_command_translates_with_the_installed_library(run):
    assert run("attention-atlas", "--version") == f"attention-atlas {transformer.__version__}\n"
    assert run("attention-atlas", "translate", TEXT) == f"{TRANSLATION}\n"
    assert "17,228,224" in run("attention-atlas", "info")
    for command in ("prepare", "train", "evaluate", "overlap", "measure"):
        assert run("attention-atlas", command, "--help").startswith(f"usage: attention-atlas {command} ")


@pytest.mark.parametrize("arguments", [(), ("app",)])
def test_installed_command_starts_an_app_that_translates(programs, visit, tmp_path, arguments):
    with running_server((programs / "attention-atlas", *arguments), tmp_path) as address, visit(address) as reader:
        reader.open("/cross_attention")
        reader.translate(TEXT)
        reader.see(TRANSLATION)
        reader.maps(1)
        # The installed app uses the project's Streamlit settings, so Streamlit's own menu is hidden.
        assert reader.page.get_by_text("Deploy").count() == 0
    assert not list(tmp_path.iterdir())
