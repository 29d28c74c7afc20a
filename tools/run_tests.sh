#!/usr/bin/env bash
# The tests in three passes, each with a kernel cache of its own (Numba's cache key ignores the compile flags):
#   compiled   all tests
#   plain      kernel tests with the JIT disabled, so that coverage sees the lines of the kernels
#   bounds     kernel tests compiled with bounds checks
#
# Usage: tools/run_tests.sh [compiled] [plain] [bounds]      (default: all three)
# Environment: PYTHON (default: python3). Arguments after -- go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
passes=()
while (($#)) && [[ $1 != -- ]]; do
    passes+=("$1")
    shift
done
(($#)) && shift
((${#passes[@]})) || passes=(compiled plain bounds)
caches=$PWD/build/kernel-cache
kernel_tests=(tests/kernels -m "not slow")

for pass in "${passes[@]}"; do
    echo "== pass: $pass"
    export NUMBA_NLP_CACHE_DIR=$caches/$pass
    case $pass in
        compiled)
            "$python" -m pytest "$@"
            ;;
        plain)
            NUMBA_DISABLE_JIT=1 "$python" -m pytest "${kernel_tests[@]}" \
                --cov --cov-report=term-missing --cov-fail-under=95 "$@"
            ;;
        bounds)
            NUMBA_BOUNDSCHECK=1 "$python" -m pytest "${kernel_tests[@]}" "$@"
            ;;
        *)
            echo "unknown pass '$pass'; choose from: compiled plain bounds" >&2
            exit 2
            ;;
    esac
done
