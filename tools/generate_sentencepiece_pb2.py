"""Write ``vocab_tools/formats/sentencepiece_pb2.py`` and its stub anew from ``sentencepiece.proto``.

Run it in an environment of its own, with the one version of the generator that the project uses::

    python -m venv build/protoc
    build/protoc/bin/pip install grpcio-tools==1.63.2
    build/protoc/bin/python tools/generate_sentencepiece_pb2.py

That is protoc 26. From protoc 27 on the generated code refuses runtimes that are older than itself or two major
versions newer; the code of protoc 26 asks for nothing, uses only what protobuf 5 and later have, and so works with the
whole range that ``pyproject.toml`` allows. A test says so for the runtime at hand.
"""

from __future__ import annotations

import sys
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
#: From the root: the path is the name under which the file is registered, and ``sentencepiece.proto`` is taken.
PROTO = "vocab_tools/formats/sentencepiece.proto"


def main() -> int:
    """Run protoc in the root of the repository; its exit status."""
    return int(
        protoc.main(["protoc", f"--proto_path={ROOT}", f"--python_out={ROOT}", f"--pyi_out={ROOT}", str(ROOT / PROTO)])
    )


if __name__ == "__main__":
    sys.exit(main())
