"""URL parameters: one frozen dataclass per page. A module in this folder is registered because it is here."""

import importlib
import pkgutil

for module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{module.name}")
