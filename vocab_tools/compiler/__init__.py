"""From the description of a vocabulary to flat arrays."""
