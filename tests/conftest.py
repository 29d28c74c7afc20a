"""Settings of all tests: how many examples a property test tries, and that none has a deadline."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# A first example compiles kernels or reads a vocabulary, so time limits would fail at random. NUMBA_NLP_TEST_EXAMPLES
# sets the number of examples; with CI set, the examples are the same in every run.
settings.register_profile(
    "numba_nlp",
    deadline=None,
    derandomize="CI" in os.environ,
    max_examples=int(os.environ.get("NUMBA_NLP_TEST_EXAMPLES", "50")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("numba_nlp")
