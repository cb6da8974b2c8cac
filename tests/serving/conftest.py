import subprocess
import sys
import sysconfig
from pathlib import Path
from venv import EnvBuilder

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def python_with_ray(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install Ray in a new environment that can also import the tests' packages. Return the path of its Python."""
    environment = tmp_path_factory.mktemp("ray")
    EnvBuilder(with_pip=True).create(environment)
    programs = environment / ("Scripts" if sys.platform == "win32" else "bin")
    (folder,) = environment.glob("**/site-packages")
    (folder / "tests.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    requirements = ROOT / "requirements-serve.txt"
    subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", "-r", requirements], check=True)
    return programs / "python"
