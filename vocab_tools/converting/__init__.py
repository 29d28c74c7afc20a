"""From one format of vocabularies to another: what loses nothing works, the rest says what would be lost."""
