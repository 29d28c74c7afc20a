"""One of several processes that encode their parts of a corpus by themselves: what a cluster is measured against.

``python -m asv_benchmarks.independent_run VOCABULARY TURN RUNS SOURCE...`` prints ``ready``; then, for each folder that
it reads from its input, it encodes the shards ``TURN``, ``TURN + RUNS`` and so on into it, and prints their bytes.
"""

from __future__ import annotations

import sys

import numba_nlp as nlp
from numba_nlp.integrations.shards import CorpusSettings, encode_shard, plan_shards


def main() -> None:
    """Command line; see the module."""
    vocabulary, turn, runs, *sources = sys.argv[1:]
    tokenizer = nlp.load_tokenizer(vocabulary)
    tokenizer.encode_batch(["warm up"], num_threads=1)
    shards = plan_shards(sources)[int(turn) :: int(runs)]
    print("ready", flush=True)
    for line in sys.stdin:
        made = [encode_shard(shard, line.rstrip("\n"), tokenizer, CorpusSettings()) for shard in shards]
        print(sum(one.text_bytes for one in made), flush=True)


if __name__ == "__main__":
    main()
