#!/usr/bin/env bash
# Everything in docs/h200.md, in one go on a machine with a GPU: calibrates, checks every recording's tags on real memory,
# and measures what each strategy costs. The fit never sees the replays.
#
#   measure.sh REMAPLAB FOLDER_WITH_TRACES OUTPUT_FOLDER
#
# docs/h200.md says how the traces are made and how the results are read.
set -uo pipefail
remaplab=$1
traces=$2
out=$3
gpu_step=20ms
strategies=(-s full_remap -s skip_remap -s 'skip_remap+copy_shadow(threshold=65536)' -s no_remap -s adaptive)
mkdir -p "$out"
failed=0

"$remaplab" list --backends
"$remaplab" calibrate --backend hip --name h200-calibrated -o "$out/h200-calibrated.json" || exit 1
for trace in "$traces"/*.remaptrace.zst; do
  name=$(basename "$trace" .remaptrace.zst)
  timeout 120 "$remaplab" replay "$trace" --backend hip --gpu-step "$gpu_step" --verify full "${strategies[@]}" \
    --store "$out/h200.sqlite" --tag verify --format csv >"$out/verify_$name.csv" || { echo "verify $name: exit $?"; failed=1; }
done
for trace in "$traces"/*.remaptrace.zst; do
  name=$(basename "$trace" .remaptrace.zst)
  timeout 120 "$remaplab" replay "$trace" --backend hip --gpu-step "$gpu_step" --repeat 3 "${strategies[@]}" \
    --cost-profile "$out/h200-calibrated.json" --store "$out/h200.sqlite" --tag measure --format csv \
    >"$out/measure_$name.csv" || { echo "measure $name: exit $?"; failed=1; }
done
exit $failed
