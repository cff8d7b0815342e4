#!/bin/bash
# A sweep over the hosts that mpirun knows of: one process per slot, one store each, then one store for all.
#   sweep.sh 4 plan.txt results.sqlite [more arguments of mpirun]
set -euo pipefail
processes="$1" plan="$2" store="$3"
shift 3

mpirun -n "$processes" "$@" remaplab sweep "$plan" --store "$store"
remaplab merge "$store" "${store%.sqlite}".shard-*-of-"$processes".sqlite
