"""What the commands write: files of rows that appear whole or not at all, and folders of them that can be resumed."""
