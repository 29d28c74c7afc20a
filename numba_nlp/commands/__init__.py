"""The sub-commands of ``numba-nlp``, and the files that they read and write."""
