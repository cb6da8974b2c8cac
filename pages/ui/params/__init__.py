"""URL parameters, one frozen dataclass per page or topic. Importing this package registers all of them."""

import importlib
import pkgutil

for module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{module.name}")
