"""Stages of a ``tokenizer.json`` as frozen descriptions: each is reproduced exactly, or refused by name.

Every reader takes a :class:`~vocab_tools.formats.stages.stage.Stage`; a stage or an option that is not known is never
skipped. What each option does was found out by experiment on the ``tokenizers`` library (0.23.3).
"""
