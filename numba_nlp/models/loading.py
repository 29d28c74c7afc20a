"""``load_model``: a model from a checkpoint folder, or from the hub."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numba_nlp._extras import extra
from numba_nlp._hub import HUB_OPTIONS

if TYPE_CHECKING:
    import torch

    from numba_nlp.models.model import Model

__all__ = ["load_model"]


def load_model(
    source: str | os.PathLike[str],
    *,
    head: str | None = None,
    device: str | torch.device | None = None,
    dtype: str | torch.dtype | None = None,
    trainable: bool = False,
    ignore: Sequence[str] = (),
    **options: Any,
) -> Model:
    """Load a model from a checkpoint as transformers writes it.

    Parameters
    ----------
    source : path-like
        A folder with ``config.json`` and ``model.safetensors`` or ``pytorch_model.bin``, in one file or in several with
        their index; or the name of a checkpoint on the Hugging Face hub (which needs ``numba_nlp[hub]``).
    head : str, optional
        What stands on the model: "none", "language_model", "masked_lm", "sequence_classification",
        "token_classification", "question_answering", "conditional_generation" or "discriminator". By default what
        ``architectures`` of config.json says. Its weights must be in the checkpoint; those of other heads of the
        family are left out.
    device : str or torch.device, optional
        Where the model goes; by default the CPU.
    dtype : str or torch.dtype, optional
        Kind of numbers, such as "float32" or "bfloat16"; by default, and with "auto", that of the checkpoint. Weights
        are converted one at a time.
    trainable : bool, default False
        Whether the parameters collect gradients.
    ignore : sequence of str, optional
        Patterns of names, such as ``"crf.*"``, of tensors that have no place in the model and may be left out; ``*``
        stands for anything. Others like these are an error.
    **options
        Of the hub: ``cache_dir``, ``local_files_only``, ``revision``, ``subfolder``, ``token``.

    Returns
    -------
    Model
        A torch module in evaluation mode. It keeps no state between calls, so that threads can share it.

    Raises
    ------
    FileNotFoundError
        There is no such folder, and no such checkpoint on the hub or in its cache.
    SourceFormatError
        Files are damaged, or tensors are missing, surplus, or of another shape or kind than config.json makes them;
        all of them are listed.
    UnsupportedFeatureError
        The family, the head or a value of config.json that changes the computation is not supported.
    ModuleNotFoundError
        torch or safetensors is not installed.

    Examples
    --------
    >>> import numba_nlp as nlp
    >>> model = nlp.load_model("path/to/bert")  # doctest: +SKIP
    >>> model([[101, 7592, 102]]).logits  # doctest: +SKIP
    """
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(f"`source` must be a path (str or os.PathLike) or a name, got {type(source).__name__}")
    unknown = [name for name in options if name not in HUB_OPTIONS]
    if "torch_dtype" in unknown:
        raise TypeError("load_model has no option 'torch_dtype'; use dtype=")
    if isinstance(ignore, str) or not all(isinstance(pattern, str) for pattern in ignore):
        raise TypeError(f"`ignore` must be a list of patterns, got {ignore!r}")
    if unknown:
        raise TypeError(f"load_model has no option {unknown[0]!r}; those of the hub are {', '.join(HUB_OPTIONS)}")
    for name in ("torch", "safetensors"):
        extra(name)
    from numba_nlp.models.building import build_model
    from numba_nlp.models.folder import find_model_folder

    folder = find_model_folder(source, options)
    return build_model(folder, head=head, device=device, dtype=dtype, trainable=trainable, ignore=tuple(ignore))
