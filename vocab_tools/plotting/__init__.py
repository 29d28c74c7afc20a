"""Figures of vocabularies: what is drawn (plain arrays and graphs), and drawing it (matplotlib, extra ``plot``)."""
