#!/usr/bin/env bash
# A sweep under a real Slurm of one node, started here and ended here: as a job array, and by srun inside one allocation,
# both with the example scripts. Needs root, and munged, slurmctld and slurmd.
#   slurm_test.sh REMAPLAB SOURCE_DIR SCRATCH_DIR
set -euo pipefail
remaplab="$1" source_dir="$2" scratch="$3"
examples="$source_dir/traces/examples"
# shellcheck source=tests/cluster/sweep_fixture.sh
source "$source_dir/tests/cluster/sweep_fixture.sh"
for tool in munged slurmctld slurmd sbatch srun sinfo; do
  PATH="$PATH:/usr/sbin" command -v "$tool" >/dev/null || skip "$tool is not installed (slurmctld, slurmd, slurm-client, munge)"
done
[ "$(id -u)" -eq 0 ] || skip "starting slurmd needs root"
PATH="$(dirname "$remaplab"):$PATH:/usr/sbin"
export PATH
rm -rf "$scratch"
# Munge wants its socket and key in folders that nobody else may write to.
work="$(mktemp -d /run/remaplab-slurm-test.XXXXXX)"
mkdir -p "$scratch" "$work/state" "$work/spool"
chmod 755 "$work"

pids=()
end_slurm() {
  local pid
  for pid in "${pids[@]}"; do
    kill "$pid" 2>/dev/null || true
  done
  wait
  rm -rf "$work"
}
trap end_slurm EXIT

host="$(hostname -s)" port=$((20000 + $$ % 10000 * 2))
dd if=/dev/urandom of="$work/munge.key" bs=64 count=1 status=none
chmod 400 "$work/munge.key"
cat >"$work/slurm.conf" <<CONF
ClusterName=remaplab
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_interval=1
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$scratch/slurmctld.log
SlurmdLogFile=$scratch/slurmd.log
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=test Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
CONF
export SLURM_CONF="$work/slurm.conf"
munged --foreground --force --key-file="$work/munge.key" --socket="$work/munge.socket" --pid-file="$work/munged.pid" \
  --log-file="$work/munged.log" --seed-file="$work/munged.seed" >"$scratch/munged.out" 2>&1 &
pids+=($!)
for _ in {1..50}; do
  [ -S "$work/munge.socket" ] && break
  sleep 0.1
done
[ -S "$work/munge.socket" ] || skip "munged does not start here: $(cat "$scratch/munged.out" "$work/munged.log")"
slurmctld -D -f "$SLURM_CONF" >"$scratch/slurmctld.out" 2>&1 &
pids+=($!)
slurmd -D -f "$SLURM_CONF" -N "$host" >"$scratch/slurmd.out" 2>&1 &
pids+=($!)
for _ in {1..60}; do
  state="$(timeout 5 sinfo --noheader --format=%T 2>/dev/null || true)"
  [ "$state" = idle ] && break
  sleep 0.5
done
[ "$state" = idle ] || skip "the node does not come up: $state $(tail -3 "$scratch/slurmctld.log" "$scratch/slurmd.log")"

make_plan
cd "$scratch"
# wait_for_jobs: until the queue is empty.
wait_for_jobs() {
  local _
  for _ in {1..240}; do
    [ -z "$(squeue --noheader)" ] && return
    sleep 0.5
  done
  fail "jobs do not end: $(squeue)"
}

sbatch --quiet --array=1-5:2 --cpus-per-task=1 --output="array-%a.log" \
  "$source_dir/examples/slurm/sweep_array.sbatch" "$plan" "$scratch/array.sqlite"
wait_for_jobs
for element in 1 3 5; do
  grep -q "shard $(((element - 1) / 2))/3 from Slurm array (SLURM_ARRAY_TASK_ID=$element)" "array-$element.log" ||
    fail "element $element did not say its shard: $(cat "array-$element.log")"
done
check_whole "$scratch/array.sqlite" 3

sbatch --quiet --ntasks=2 --overcommit --output=srun.log "$source_dir/examples/slurm/sweep_srun.sbatch" "$plan" \
  "$scratch/srun.sqlite"
wait_for_jobs
for task in 0 1; do
  grep -q "shard $task/2 from srun (SLURM_PROCID=$task)" srun.log || fail "task $task did not say its shard: $(cat srun.log)"
done
check_whole "$scratch/srun.sqlite" 2
grep -q "8 of 8 cells" srun.log || fail "the script did not merge: $(cat srun.log)"
echo "a sweep under Slurm is whole, as an array and by srun"
