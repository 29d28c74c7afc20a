# The public names of the pipelines: read by type checkers, and by lazy_loader, which imports a name on first use.
from .base import Pipeline as Pipeline
from .factory import pipeline as pipeline
from .failures import FailedRow as FailedRow
from .task_names import supported_tasks as supported_tasks
from .turns import Conversation as Conversation

__all__ = [
    "Conversation",
    "FailedRow",
    "Pipeline",
    "pipeline",
    "supported_tasks",
]
