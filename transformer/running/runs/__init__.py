"""The kinds of runs of a translator. A module placed in this folder is registered by being here."""

import importlib
import pkgutil

for module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{module.name}")
