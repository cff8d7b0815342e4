#!/usr/bin/env bash
# The published MI300X rows, from the two recordings that lie beside a checkout (../shared/captures, or the folder given).
set -euo pipefail
captures=${1:-../shared/captures}
remaplab=build/release/remaplab
for run in llama2_7b:552ms llama3_8b:616ms; do
  name=${run%%:*}_l8_vmm
  "$remaplab" capture --log "$captures/$name.log.gz" --assignment "$captures/$name.buffer-assignment.txt.gz" \
    --module jit_step_fn -o "build/$name.remaptrace.zst" 2>/dev/null >/dev/null
  echo "$name, GPU step ${run##*:}"
  "$remaplab" replay "build/$name.remaptrace.zst" --cost-profile mi300x-fsdp8 --devices 8 --scale-sizes 1/8 \
    --gpu-step "${run##*:}" --store build/mi300x.sqlite --tag "$name" --strategy full_remap --strategy skip_remap \
    --strategy 'skip_remap+copy_shadow(threshold=65536)' --format csv |
    python3 -c '
import csv, sys
rows = list(csv.DictReader(sys.stdin))
full = int(rows[0]["step_ns.median"])
for row in rows:
    ns = int(row["step_ns.median"])
    print("  %-40s %9.1f ms  %.2fx" % (row["strategy"], ns / 1e6, full / ns))'
done
