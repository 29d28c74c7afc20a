"""PEGASUS (Zhang et al. 2019, arXiv:1912.08777)."""

from __future__ import annotations

from numba_nlp.models.bart import Switches, family

__all__ = ["FAMILIES"]

FAMILIES = {
    "pegasus": family(
        "pegasus",
        "Pegasus",
        Switches(
            position_kind="sines",
            norm_first=True,
            norm_begin=False,
            norm_end=True,
            vocabulary=50265,
            padding_id=0,
            end_id=1,
            start_id=0,
        ),
        Model="none",
        ForConditionalGeneration="conditional_generation",
    )
}
