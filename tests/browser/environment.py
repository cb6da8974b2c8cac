"""Creates new Python environments for installation tests."""

import subprocess
import sys
from pathlib import Path
from venv import EnvBuilder

import pytest

PROGRAMS = "Scripts" if sys.platform == "win32" else "bin"


def programs_of_environment(folders: pytest.TempPathFactory, *packages: str) -> Path:
    """Install packages in a new environment, and return the folder of its executables."""
    environment = folders.mktemp("environment")
    EnvBuilder(with_pip=True).create(environment)
    programs = environment / PROGRAMS
    subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", *packages], check=True)
    return programs
