"""What two tokenizers make of the same texts."""
