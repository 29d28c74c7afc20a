"""What `bench_pipelines` measures: one entry a task, with what transformers does in its place.

Models have the sizes of small checkpoints and random weights; texts are of Hamlet. A task is added by an entry of
``CASES``: what writes the checkpoint, the inputs, the options, and a peer, which makes a call of transformers.
"""

from __future__ import annotations

from . import pipeline_readers, pipeline_writers
from .pipeline_case import PipelineCase

__all__ = ["CASES"]

CASES: dict[str, PipelineCase] = {**pipeline_writers.CASES, **pipeline_readers.CASES}
