"""temp"""

import numpy as np


class Team:
    def __init__(self, n):
        self.n = 1
        self.state = np.zeros(4, np.int64)

    def run(self, f, *args):
        f(*args[:-1], self.state, 0, 1, args[-1])

    def close(self):
        pass
