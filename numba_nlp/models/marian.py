"""Marian (Junczys-Dowmunt et al. 2018, arXiv:1804.00344), as of the OPUS-MT translation models."""

from __future__ import annotations

from numba_nlp.models.bart import Switches, family

__all__ = ["FAMILIES"]

FAMILIES = {
    "marian": family(
        "marian",
        "Marian",
        Switches(
            position_kind="sines",
            norm_first=False,
            norm_begin=False,
            norm_end=False,
            vocabulary=58101,
            padding_id=58100,
            end_id=0,
            start_id=58100,
            may_split=True,
        ),
        Model="none",
        MTModel="conditional_generation",
    )
}
