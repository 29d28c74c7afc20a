"""What the pipelines of transformers 4 give, for the tests; a file a task."""
