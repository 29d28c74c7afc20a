"""mBART and mBART-50 (Liu et al. 2020, arXiv:2001.08210; Tang et al. 2020, arXiv:2008.00401)."""

from __future__ import annotations

from numba_nlp.models.bart import Switches, family

__all__ = ["FAMILIES"]

FAMILIES = {
    "mbart": family(
        "mbart",
        "MBart",
        Switches(
            position_kind="learned",
            norm_first=True,
            norm_begin=True,
            norm_end=True,
            vocabulary=50265,
            padding_id=1,
            end_id=2,
            start_id=None,
            shifting_heads=("none", "conditional_generation", "sequence_classification", "question_answering"),
            start_is_last=True,
        ),
        Model="none",
        ForConditionalGeneration="conditional_generation",
        ForSequenceClassification="sequence_classification",
        ForQuestionAnswering="question_answering",
    )
}
