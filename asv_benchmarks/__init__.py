"""Speed and memory of numba_nlp beside its peers: the asv suite (``benchmarks``) and the report (``report``)."""
