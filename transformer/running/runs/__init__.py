"""Runs that a translator executes. Importing this package imports all modules in it, which registers their runs."""

import importlib
import pkgutil

for module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{module.name}")
