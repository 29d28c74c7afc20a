#!/usr/bin/env bash
# The tests in passes, each with a kernel cache of its own (Numba's cache key ignores the compile flags):
#   compiled   all tests, in three parts with processes of their own: tokenizers that tests keep, and code that was
#              compiled, came to 10 GB a process before the last test
#   plain      kernel tests with the JIT disabled, so that coverage sees the lines of the kernels
#   bounds     kernel tests compiled with bounds checks, and with little optimisation
#   portable   kernel tests compiled without intrinsics; like bounds without the checks, so not among the default ones
#
# Usage: tools/run_tests.sh [compiled] [plain] [bounds] [portable]      (default: the first three)
# Environment: PYTHON (default: python3); NUMBA_NLP_TEST_WORKERS, processes that share the tests file by file (default:
# one a processor, at most four, for each compiles what it needs); NUMBA_NLP_TEST_EXAMPLES, examples a property test
# tries (default: 50, of which the pass without the JIT takes half, for it is a hundred times slower); OMP_NUM_THREADS,
# threads of torch in each process (default: 1). Arguments after -- go to pytest.
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
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
caches=$PWD/build/kernel-cache
kernel_tests=(tests/kernels -m "not slow")
workers=(-n "${NUMBA_NLP_TEST_WORKERS:-auto}" --maxprocesses=4 --dist=loadfile)

# Run some of the tests; there may be none among them that the arguments choose.
run_part() {
    local status=0
    "$python" -m pytest "${workers[@]}" "$@" || status=$?
    ((status == 5)) && return
    found=1
    return $status
}

for pass in "${passes[@]}"; do
    echo "== pass: $pass"
    export NUMBA_NLP_CACHE_DIR=$caches/$pass
    case $pass in
        compiled)
            in_folders=()
            for folder in tests/*/; do
                case $folder in
                    */__pycache__/ | tests/reference_parity/) ;;
                    *) in_folders+=("$folder") ;;
                esac
            done
            found=0
            run_part "$@" tests/reference_parity
            run_part "$@" "${in_folders[@]}"
            run_part "$@" tests/test_*.py
            ((found)) || { echo "no test was found" >&2 && exit 5; }
            ;;
        plain)
            NUMBA_NLP_TEST_EXAMPLES=$((${NUMBA_NLP_TEST_EXAMPLES:-50} / 2 + 1)) NUMBA_DISABLE_JIT=1 \
                "$python" -m pytest "${workers[@]}" "${kernel_tests[@]}" \
                --cov --cov-report=term-missing --cov-fail-under=95 "$@"
            ;;
        bounds)
            # nearly all of the time goes into compiling, which takes a fraction of it with less optimisation
            NUMBA_BOUNDSCHECK=1 NUMBA_OPT=1 "$python" -m pytest "${workers[@]}" "${kernel_tests[@]}" "$@"
            ;;
        portable)
            NUMBA_NLP_PLAIN=1 "$python" -m pytest "${workers[@]}" "${kernel_tests[@]}" "$@"
            ;;
        *)
            echo "unknown pass '$pass'; choose from: compiled plain bounds portable" >&2
            exit 2
            ;;
    esac
done
