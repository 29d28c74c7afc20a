"""Whether a vocabulary is what it says, and encodes as the library of its format."""
