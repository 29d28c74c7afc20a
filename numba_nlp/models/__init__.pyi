# The public names of the models: read by type checkers, and by lazy_loader, which imports a name on first use.
from .creation import create_model as create_model
from .creation import save_model as save_model
from .families import supported_families as supported_families
from .loading import load_model as load_model
from .model import Model as Model
from .outputs import ModelOutput as ModelOutput
from .own import own_model as own_model

__all__ = [
    "Model",
    "ModelOutput",
    "create_model",
    "load_model",
    "own_model",
    "save_model",
    "supported_families",
]
