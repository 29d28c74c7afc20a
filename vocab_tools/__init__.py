"""Tools that make, read, compile and compare vocabularies."""
