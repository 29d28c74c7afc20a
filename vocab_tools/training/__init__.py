"""Making vocabularies: counts of words, and what learns pieces from them."""
