"""From what a model gives to the result of a task: scores of labels and of words."""
