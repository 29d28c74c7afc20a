"""What is written: files of rows that appear whole or not at all."""
