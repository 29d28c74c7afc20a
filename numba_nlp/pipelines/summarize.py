"""Summaries by BART, Pegasus, T5 and their kin."""

from __future__ import annotations

from numba_nlp.pipelines.text_to_text import TextToText

__all__ = ["Summarize"]


class Summarize(TextToText):
    """The summary of a text; see :class:`Pipeline` and :class:`TextToTextOptions`.

    ``pipe(text)`` is a ``str``, or a list of them with `num_return_sequences`; :meth:`Pipeline.arrays` gives
    :class:`WrittenTexts`. T5 reads "summarize: " before the text, if its config.json says so.
    """

    task = "summarize"
    task_names = ("summarization",)
