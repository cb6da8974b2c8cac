"""Tests of allowed imports: the library never imports the user interface, and the user interface never uses tensors."""

import ast
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

from pages.ui.params.pages import PAGES

ROOT = Path(__file__).parents[2]


@cache
def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imported(path):
    names = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.append(node.module or "")
    return tuple(names)


@cache
def files(folder):
    return sorted((ROOT / folder).rglob("*.py"))


def module_name(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def offenders(paths, forbidden):
    """Return the forbidden imports of each file."""
    found = {str(path.relative_to(ROOT)): [name for name in imported(path) if forbidden(name)] for path in paths}
    return {path: names for path, names in found.items() if names}


def of_packages(*packages):
    return lambda name: name.split(".")[0] in packages


def test_library_does_not_import_the_user_interface():
    screen = of_packages("streamlit", "plotly", "altair", "pandas", "pages", "app")
    assert files("transformer") and offenders(files("transformer"), screen) == {}


def test_user_interface_does_not_use_tensors():
    screen = [*files("pages"), ROOT / "app.py"]
    assert len(screen) > 1 and offenders(screen, of_packages("torch")) == {}
    tensors = "transformer.model", "transformer.decoding"
    # The user interface may import these modules, because their functions neither take nor return tensors.
    plain = {
        "transformer.decoding.texts",
        *(
            f"transformer.model.{name}"
            for name in ("devices", "encodings", "linear_biases", "parameter_counts", "sinusoids")
        ),
    }
    assert offenders(screen, lambda name: name.startswith(tensors) and name not in plain) == {}


def test_analysis_package_does_not_import_torch():
    analysis = files("transformer/analysis")
    assert analysis and offenders(analysis, of_packages("torch")) == {}


def modules(folder, without=()):
    return tuple(module_name(path) for path in files(f"transformer/{folder}") if path.stem not in without)


NO_TORCH = (
    "transformer",
    "transformer.config",
    "transformer.errors",
    "transformer.model.encodings",
    "transformer.language_modelling.cost",
    "transformer.text.tokenizer",
    *modules("values"),
    *(
        f"transformer.attribution.{name}"
        for name in ("agreement", "alti", "attribution", "deletion", "direct_logits", "norms", "rollout", "weights")
    ),
    *modules(
        "backpropagation",
        (
            "__init__",
            "attention_stages",
            "autograd",
            "norm_placement",
            "sentence",
            "stage",
            "stages",
            "sublayer_stages",
        ),
    ),
    *(
        f"transformer.tasks.{name}"
        for name in ("archive", "arithmetic", "config", "events", "registry", "run", "scores", "sequences", "task")
    ),
    *modules("analysis", ("__main__", "__init__")),
)


# Modules to import in this order, each with the libraries that must not be loaded afterwards.
LOADED_WITHOUT = (
    # Importing the library itself is cheap.
    ("transformer", ("torch", "numpy", "sentencepiece")),
    ("attention_atlas.command_line", ("torch", "numpy")),
    *((name, ("torch",)) for name in NO_TORCH),
    # The router is imported before the first page. Importing torch there would take seconds, during which the screen
    # shows "Starting the Transformer".
    ("pages.ui.shell.router", ("torch",)),
)


def test_libraries_are_imported_only_when_needed():
    """Runs in a fresh interpreter, because the one that runs the tests has loaded every library."""
    code = f"""
import sys
for name, libraries in {LOADED_WITHOUT!r}:
    __import__(name)
    loaded = [library for library in libraries if library in sys.modules]
    assert not loaded, f"{{name}} loads {{loaded}}"
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_page_imports_the_router_first():
    for path in (ROOT / "pages").glob("*.py"):
        if path.name == "__init__.py":
            continue
        statements = [
            node for node in parsed(path).body if not isinstance(node, ast.Expr) or isinstance(node.value, ast.Call)
        ]
        first = next(node for node in statements if isinstance(node, ast.Expr))
        assert ast.unparse(first) == "ensure_router()", path.name


def test_every_table_uses_our_own_save_button():
    """Streamlit's own button would save user text as spreadsheet formulas; `client.disableDataExport` removes that
    button.
    """
    drawn = {
        str(path.relative_to(ROOT))
        for path in [*files("pages"), ROOT / "app.py"]
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute) and node.attr in ("dataframe", "data_editor")
    }
    assert drawn == {"pages/ui/charts/tables.py"}
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert settings["client"]["disableDataExport"]


def test_all_csv_files_are_written_by_one_function():
    """`csv_text` escapes user text that a spreadsheet would read as a formula; `exports.js` does the same in the
    browser.
    """
    pages = [*files("pages"), ROOT / "app.py"]
    written = [
        str(path.relative_to(ROOT))
        for path in pages
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute) and node.attr in ("to_csv", "to_excel", "savetxt")
    ]
    assert written == ["pages/ui/charts/downloads.py"]
    assert offenders(pages, of_packages("csv")) == {}
    scripts = [path for path in (ROOT / "assets").rglob("*.js") if path.parent.name != "vendor"]
    assert [path.name for path in scripts if "text/csv" in path.read_text(encoding="utf-8")] == ["exports.js"]


# This package imports third-party models; its modules read file formats that no other module reads.
INTEROP = ROOT / "transformer" / "interop"
# This file reads weights and settings from folders that other programs wrote, and enforces size limits.
HUGGINGFACE_FILES = ROOT / "transformer" / "checkpoints" / "huggingface_files.py"
COMMAND = ROOT / "transformer" / "commands" / "translate.py"


def test_no_module_unpickles_data():
    """PyTorch weight files are the exception: only the import command with --allow-pickle-weights reads them."""
    for path in [*files("transformer"), *files("pages"), ROOT / "app.py"]:
        text = path.read_text(encoding="utf-8")
        assert not {"pickle", "marshal", "shelve", "joblib", "dill"} & {name.split(".")[0] for name in imported(path)}
        if path == HUGGINGFACE_FILES:
            assert text.count("torch.load(") == text.count('torch.load(path, map_location="cpu", weights_only=True)')
            continue
        assert "torch.load(" not in text, path.name
        if path.parent != INTEROP and path != COMMAND:
            assert "pickle" not in text.replace("allow_pickle=False", ""), path.name


def test_only_the_import_command_reads_third_party_models():
    """Pages load no third-party models except GPT-2 and the output of the import command, and use no network."""
    for path in [*files("transformer"), *files("pages"), ROOT / "app.py"]:
        if path.parent != INTEROP and path != COMMAND:
            read = {name for name in imported(path) if name.startswith("transformer.interop")}
            assert not read, path.name
        if path != INTEROP / "hub.py":
            assert "huggingface_hub" not in {name.split(".")[0] for name in imported(path)}, path.name


def test_only_the_modules_for_the_model_server_and_the_cluster_import_ray():
    """Checks the imports in the code; another test checks the loaded modules. `ray_cluster.py` configures Ray, so it
    must be imported before Ray.
    """
    server, cluster = (ROOT / "transformer" / "serving" / name for name in ("server.py", "ray_cluster.py"))
    assert "ray" in imported(cluster)
    of_ray = [name for name in imported(server) if "ray" in name]
    assert of_ray[0] == "transformer.serving.ray_cluster" and "ray.serve.config" in of_ray
    for path in [*files("transformer"), *files("pages"), ROOT / "app.py"]:
        names = {name.split(".")[0] for name in imported(path)}
        if path.parent == ROOT / "pages" / "ui" / "server":
            # The app extends Streamlit's server, which is built with starlette.
            names -= {"starlette"}
        assert path in (server, cluster) or not {"ray", "starlette", "pydantic"} & names, path
        assert path.stem == "serve" or "transformer.serving.server" not in set(imported(path)), path


# The Lessons page shows figures of all pages. The select box for the model, in pages/ui/language_model, uses
# modules of two other pages.
ABOVE_OTHER_PAGES = {"language_model", "lessons"}
# Layers from the bottom up: packages and single files of the library, then of pages/ui. A module imports only from
# lower layers and its own package. A `__main__` counts as one of the commands, whatever its package.
FLOORS = {
    "transformer": [
        {"errors", "generation"},
        {"config"},
        {"files"},
        {"values"},
        {"text"},
        {"model"},
        {"backpropagation", "checkpoints", "decoding"},
        {"analysis"},
        {"attribution", "language_modelling", "training"},
        {"running", "tasks"},
        {"ablation", "interop", "serving", "transformer"},
        {"lessons", "measurements"},
        {"experiments"},
        {"commands"},
    ],
    "pages.ui": [
        {"params", "runs", "server", "text", "ui"},
        {"charts", "state"},
        {"layout"},
        {"components"},
        {"heads"},
        {"lecture", "reading"},
        {"bets"},
        {"measurements", "shell"},
        {page.folder or page.name for page in PAGES.values()} - ABOVE_OTHER_PAGES,
        ABOVE_OTHER_PAGES,
    ],
}


@pytest.mark.parametrize("package", FLOORS)
def test_modules_import_only_from_lower_layers(package):
    modules = {module_name(path): path for path in files(package.replace(".", "/"))}
    floor = {name: number for number, names in enumerate(FLOORS[package]) for name in names}

    def room(module):
        if module.endswith(".__main__"):
            return "commands"
        return (module.removeprefix(package) or f".{package.split('.')[-1]}").split(".")[1]

    upward = []
    for importer, path in modules.items():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                full = [f"{node.module}.{alias.name}" for alias in node.names]
                names = [name if name in modules else node.module for name in full]
            else:
                continue
            for name in names:
                if name not in modules or room(name) == room(importer):
                    continue
                if floor[room(name)] >= floor[room(importer)]:
                    upward.append((importer, name))
    assert not upward


def test_only_three_modules_import_the_lecture_parameters():
    """Pages merely name their main figure. Other modules decide how lecture mode shows this figure on its own."""
    knowing = {str(path.relative_to(ROOT)) for path in files("pages") if "pages.ui.params.lecture" in imported(path)}
    assert knowing == {"pages/ui/layout/roles.py", "pages/ui/lecture/bar.py", "pages/ui/params/state.py"}


def test_top_level_library_modules_contain_only_configuration_and_errors():
    """A new contributor should first see configuration, generation settings and errors, so the rest is in packages."""
    loose = {path.stem for path in (ROOT / "transformer").glob("*.py")}
    assert loose == {"__init__", "__main__", "config", "errors", "generation"}
    assert [path.name for path in (ROOT / "pages" / "ui").glob("*.py")] == ["__init__.py"]


def test_library_never_starts_the_user_interface():
    """Checks string constants too, because `runpy` and subprocesses take a program's name as a string."""
    for path in files("transformer"):
        started = {
            node.value.partition(".")[0]
            for node in ast.walk(parsed(path))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        assert not {"streamlit", "plotly", "altair"} & started, path
