"""Vocabularies with fewer or more pieces, written in the format that they came in."""
