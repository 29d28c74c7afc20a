"""M2M100 (Fan et al. 2020, arXiv:2010.11125) and the dense NLLB models (arXiv:2207.04672), which are the same."""

from __future__ import annotations

from numba_nlp.models.bart import Switches, family

__all__ = ["FAMILIES"]

FAMILIES = {
    "m2m_100": family(
        "m2m_100",
        "M2M100",
        Switches(
            position_kind="counted_sines",
            norm_first=True,
            norm_begin=False,
            norm_end=True,
            vocabulary=128112,
            padding_id=1,
            end_id=2,
            start_id=2,
            activation="relu",
            scale_embedding=True,
            logits_bias=False,
        ),
        Model="none",
        ForConditionalGeneration="conditional_generation",
    )
}
