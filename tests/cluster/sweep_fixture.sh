# shellcheck shell=bash disable=SC2154
# Shared by the tests that run a sweep under a real scheduler: a trace, a plan of 8 cells, and what must come out.
# Wants $remaplab, $source_dir, $examples and $scratch; sets $plan. The functions end the test when something is wrong.

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

skip() {
  echo "SKIPPED: $*"
  exit 77
}

make_plan() {
  "$remaplab" capture --log "$examples/tiny_vmm.log.gz" --assignment "$examples/tiny_vmm.buffer-assignment.txt.gz" \
    -o "$scratch/tiny_vmm.remaptrace.zst" 2>"$scratch/capture.log" || fail "capture: $(cat "$scratch/capture.log")"
  plan="$scratch/tiny.plan"
  cp "$source_dir/examples/tiny.plan" "$plan"
}

# check_whole STORE SHARDS: merges the shards of STORE again and wants every cell of the plan, once.
check_whole() {
  local store="$1" shards="$2" merged="$scratch/check.sqlite" cells
  rm -f "$merged"
  "$remaplab" merge "$merged" "${store%.sqlite}".shard-*-of-"$shards".sqlite >/dev/null 2>"$scratch/merge.log" ||
    fail "merge: $(cat "$scratch/merge.log")"
  grep -q "8 of 8 cells$" "$scratch/merge.log" || fail "not every cell once: $(cat "$scratch/merge.log")"
  cells="$("$remaplab" query "$merged" "SELECT count(DISTINCT cell) FROM v_run WHERE status = 'finished'" --format csv)"
  [ "$(tail -n 1 <<<"$cells" | tr -d '\r')" = 8 ] || fail "8 cells were expected: $cells"
}
