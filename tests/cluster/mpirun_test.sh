#!/usr/bin/env bash
# A sweep under a real mpirun, by the example script.
#   mpirun_test.sh REMAPLAB SOURCE_DIR SCRATCH_DIR
set -euo pipefail
remaplab="$1" source_dir="$2" scratch="$3"
examples="$source_dir/traces/examples"
# shellcheck source=tests/cluster/sweep_fixture.sh
source "$source_dir/tests/cluster/sweep_fixture.sh"
command -v mpirun >/dev/null || skip "mpirun is not installed (openmpi-bin)"
rm -rf "$scratch"
mkdir -p "$scratch"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpirun -n 1 --oversubscribe true >/dev/null 2>&1 || skip "mpirun does not run here"
PATH="$(dirname "$remaplab"):$PATH"
export PATH

make_plan
store="$scratch/mpi.sqlite"
"$source_dir/examples/mpirun/sweep.sh" 3 "$plan" "$store" --oversubscribe >"$scratch/out.log" 2>&1 ||
  fail "the example script: $(cat "$scratch/out.log")"
for rank in 0 1 2; do
  grep -q "shard $rank/3 from Open MPI (OMPI_COMM_WORLD_RANK=$rank)" "$scratch/out.log" ||
    fail "rank $rank did not say its shard: $(cat "$scratch/out.log")"
done
check_whole "$store" 3
echo "a sweep under mpirun is whole"
