"""What classifiers of encoder-decoders read: the source again, and where its rows end."""

from __future__ import annotations

import torch
from torch import Tensor

from numba_nlp.models.encoder_decoder_settings import EncoderDecoderSettings
from numba_nlp.models.layers.pooled import first_position, last_position, pick_position

__all__ = ["row_ends", "shifted_source"]


def shifted_source(ids: Tensor, mask: Tensor | None, settings: EncoderDecoderSettings) -> Tensor:
    """The source one token later, each row with its first token before it; padding at the left stays there.

    Parameters
    ----------
    ids : Tensor
        int64 ``[rows, width]``.
    mask : Tensor or None
        ``bool[rows, width]``, True for tokens that count.
    settings : EncoderDecoderSettings
        Say what the first token is.

    Returns
    -------
    Tensor
        int64 ``[rows, width]``; the mask of the source is its mask too.

    Raises
    ------
    ValueError
        The settings do not say it.
    """
    if settings.start_is_last:
        counts = mask
        if settings.padding_id is not None:
            # whether or not there is a mask: a row alone needs none, and has to give what it gives among padded ones
            real = ids != settings.padding_id
            counts = real if mask is None else real & mask
        # as transformers has it: so many places on as there are tokens, also where padding tokens are among them
        n_tokens = torch.full_like(ids[:, 0], ids.shape[1]) if counts is None else counts.sum(1)
        begin = torch.zeros_like(n_tokens) if mask is None else first_position(mask, ids)
        first = pick_position(ids, (begin + n_tokens - 1).clamp_min(0))[:, None]
    elif settings.start_id is None:
        raise ValueError("config.json has no `decoder_start_token_id`: give `decoder_input_ids`")
    else:
        first = ids.new_full((ids.shape[0], 1), settings.start_id)
    shifted = torch.cat([first, ids[:, :-1]], dim=1)
    return shifted if mask is None else shifted.scatter(1, first_position(mask, ids)[:, None], first)


def row_ends(ids: Tensor, mask: Tensor | None, end_ids: tuple[int, ...], hidden: Tensor) -> Tensor:
    """Place of the last token of each row that ends it, int64 ``[rows]``.

    Parameters
    ----------
    ids : Tensor
        int64 ``[rows, width]``.
    mask : Tensor or None
        ``bool[rows, width]``, True for tokens that count.
    end_ids : tuple of int
        Tokens that end a row.
    hidden : Tensor
        ``[rows, width, model width]``, from which the vectors of these places will be taken.

    Raises
    ------
    ValueError
        A row has no such token, or the hidden states are of other rows. (This waits for the device.)
    """
    if ids.shape[1] != hidden.shape[1]:
        raise ValueError(
            f"a classifier reads the rows of `input_ids` again, {ids.shape[1]} tokens wide; got `decoder_input_ids` of "
            f"{hidden.shape[1]}: leave them out"
        )
    ends = torch.isin(ids, torch.tensor(end_ids, dtype=torch.int64, device=ids.device))
    if mask is not None:
        ends &= mask
    found = ends.any(1)
    if not torch.compiler.is_compiling() and not bool(found.all()):
        raise ValueError(
            f"row {int((~found).nonzero()[0, 0])} has no token that ends it ({' or '.join(map(str, end_ids))}), at "
            "which the classifier looks; let the tokenizer add it"
        )
    return last_position(ends, hidden)
