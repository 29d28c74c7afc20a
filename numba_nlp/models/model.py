"""What all models have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from numba_nlp.models.weights import TensorMap

if TYPE_CHECKING:
    from numba_nlp.generation.outputs import GenerationOutput
    from numba_nlp.models.outputs import ModelOutput

__all__ = ["Model"]


class Model(nn.Module):
    """A model: a torch module that knows its settings and how the tensors of a checkpoint are named.

    Parameters
    ----------
    settings : dataclass
        Frozen; of the family.
    head : str
        One of ``families.HEADS``.

    Attributes
    ----------
    settings : dataclass
        Frozen; plain names.
    head : str
        What stands on the model, ``"none"`` for nothing.
    family : str
        ``model_type`` of the checkpoint.
    config : dict
        Its config.json as read.
    generation_config : dict or None
        Its generation_config.json.
    labels : tuple of str or None
        Names of the labels of a classifier.
    """

    #: Name of the model without head in the names of tensors; checkpoints may have or lack it.
    prefix = ""

    def __init__(self, settings: Any, head: str) -> None:
        super().__init__()
        self.settings = settings
        self.head = head
        self.family = ""
        self.config: dict[str, Any] = {}
        self.generation_config: dict[str, Any] | None = None
        self.labels: tuple[str, ...] | None = None

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return next(self.parameters()).device

    @property
    def dtype(self) -> torch.dtype:
        """Kind of numbers of the parameters."""
        return next(self.parameters()).dtype

    @property
    def cpu_threads(self) -> int | None:
        """Threads that torch takes for the model on a CPU; None on another device."""
        return torch.get_num_threads() if self.device.type == "cpu" else None

    def name_tensors(self, to: TensorMap) -> None:
        """Say which tensor of a checkpoint goes where."""
        raise NotImplementedError

    def cast(self, dtype: torch.dtype) -> None:
        """Change the kind of numbers of the parameters; a family may keep some of them wider."""
        self.to(dtype)

    def fill_tables(self) -> None:
        """Compute what checkpoints need not hold, such as tables of sines.

        Called when the model has memory, and before the tensors of the checkpoint are copied into it.
        """

    def generate(self, input_ids: Any = None, attention_mask: Any = None, **options: Any) -> GenerationOutput:
        """Generate tokens; see :func:`numba_nlp.generation.generate`.

        Parameters
        ----------
        input_ids, attention_mask, **options
            As there.

        Raises
        ------
        ValueError, TypeError, UnsupportedFeatureError
            As there.
        """
        from numba_nlp.generation.calls import generate

        return generate(self, input_ids, attention_mask, **options)

    def infer(self, **inputs: Any) -> ModelOutput:
        """What calling the model gives, without gradients; see :func:`numba_nlp.generation.infer`.

        Parameters
        ----------
        **inputs
            Of the model, and ``at``, ``engine`` and ``weights`` as there.

        Raises
        ------
        ValueError, TypeError, UnsupportedFeatureError
            As there.
        """
        from numba_nlp.generation.inference import infer

        return infer(self, **inputs)

    def describe(self, **choices: Any) -> dict[str, Any]:
        """What runs where when the model generates; see :func:`numba_nlp.generation.describe`.

        Parameters
        ----------
        **choices
            ``config``, ``engine``, ``weights`` and options, as of :meth:`generate`.

        Raises
        ------
        ValueError, UnsupportedFeatureError
            As there.
        """
        from numba_nlp.generation.description import describe

        return describe(self, **choices)

    def score(self, input_ids: Any, continuations: Any, attention_mask: Any = None, **options: Any) -> Any:
        """Log-probabilities of continuations; see :func:`numba_nlp.generation.score`.

        Parameters
        ----------
        input_ids, continuations, attention_mask, **options
            As there.

        Raises
        ------
        ValueError, TypeError
            As there.
        """
        from numba_nlp.generation.scoring import score

        return score(self, input_ids, continuations, attention_mask, **options)

    def forget_packed(self) -> None:
        """Give back the memory of weights that were packed for generation; the next one packs them again."""
        from numba_nlp.generation.decode_plan import forget_packed

        forget_packed(self)

    def check_width(self, width: int, limit: int | None, name: str = "input_ids") -> None:
        """Refuse rows that are longer than the model has positions.

        Raises
        ------
        ValueError
            They are.
        """
        if limit is not None and width > limit:
            raise ValueError(
                f"`{name}` has rows of {width} tokens, the model has {limit} positions; truncate them, or cut them "
                f"into windows (max_length={limit} of the tokenizer)"
            )
