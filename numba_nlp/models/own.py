"""Where the models are that come with the package."""

from __future__ import annotations

from pathlib import Path

__all__ = ["OWN_MODELS", "own_model"]

#: Names of the models, and what trains them anew.
OWN_MODELS = {"numbers": "tools.train_numbers", "shakespeare": "tools.train_shakespeare"}
_DATA = Path(__file__).with_name("data")


def own_model(name: str) -> Path:
    """The folder of a small model that comes with the package, for :func:`numba_nlp.load_model`.

    Each has a ``MODEL_CARD.md``, which says what it can do and what it was made from.

    Parameters
    ----------
    name : {"shakespeare", "numbers"}
        A GPT-2 that writes in the manner of Shakespeare's plays; a Marian model that spells out numbers and dates in
        English and reads them back.

    Returns
    -------
    Path

    Raises
    ------
    ValueError
        There is no such model.
    FileNotFoundError
        Its weights are not there: the package was installed without them.

    Examples
    --------
    >>> import numba_nlp as nlp
    >>> from numba_nlp.models import own_model
    >>> model = nlp.load_model(own_model("shakespeare"))  # doctest: +SKIP
    """
    if name not in OWN_MODELS:
        raise ValueError(f"`name` must be one of {', '.join(map(repr, OWN_MODELS))}, got {name!r}")
    folder = _DATA / name
    if not (folder / "model.safetensors").is_file():
        raise FileNotFoundError(
            f"{folder}: the weights of {name!r} are not there; `python -m {OWN_MODELS[name]}` trains them in a checkout"
        )
    return folder
