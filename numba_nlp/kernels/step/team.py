"""temp"""

from numba_nlp._jit import kernel


@kernel
def wait_for_team(team, n_threads):
    return 0
