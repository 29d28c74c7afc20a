"""Writers of vocabulary files: from a description to the bytes of a file, nothing is opened here."""
