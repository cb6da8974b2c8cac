"""URL parameters, as one frozen dataclass per page. All modules in this folder are registered automatically."""

import importlib
import pkgutil

for module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{module.name}")
