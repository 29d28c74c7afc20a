"""What is read: files of texts and of ids, some rows at a time."""
