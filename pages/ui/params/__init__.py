"""URL parameters: a frozen dataclass a page. A module placed in this folder is registered by being here."""

import importlib
import pkgutil

for module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{module.name}")
