#!/usr/bin/env python3
"""remaplab beside its peers, on the same work, in one run: fio's null engine, and the Python reference.

    peers.py REMAPLAB [--repetitions N]

Prints Markdown: medians of wall time of whole processes, run in turn (A B A B ...), and their ratios. docs/peers.md says what
is compared and why. Needs fio; without it that half is left out, visibly.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "traces" / "examples"
REFERENCE = ROOT / "tests" / "reference" / "count_remaps.py"
STRATEGIES = ["full_remap", "skip_remap", "skip_remap+copy_shadow(threshold=65536)"]
SLOTS, STEPS, CHANGES = 1000, 100_000, 10


def run(words, **options):
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL, **options)


def seconds_of(job):
    begin = time.perf_counter()
    job()
    return time.perf_counter() - begin


def in_turn(jobs, repetitions):
    """Median wall time of each job; one round to warm the file cache is thrown away."""
    times = {name: [] for name in jobs}
    for repetition in range(repetitions + 1):
        for name, job in jobs.items():
            taken = seconds_of(job)
            if repetition > 0:
                times[name].append(taken)
    return {name: statistics.median(taken) for name, taken in times.items()}


def write_churn_trace(path):
    """Each step moves CHANGES of SLOTS slots to their other backing."""
    with open(path, "w", encoding="utf-8") as out:
        out.write('{"remaptrace":1,"source":"peers","tool":"peers.py","time_unit":"ns","granularity":2097152,"meta":{}}\n')
        slots = [{"index": slot, "size": 100_000} for slot in range(SLOTS)]
        out.write(json.dumps({"event": "program", "id": 1, "module": "churn", "slots": slots}) + "\n")
        for backing in range(2 * SLOTS):
            out.write(
                '{"event":"alloc","backing":%d,"address":"0x%x","size":100000,"t":0}\n' % (backing, (backing + 1) << 21)
            )
        current = [0] * SLOTS
        bind = [[slot, 2 * slot] for slot in range(SLOTS)]
        stride = SLOTS // CHANGES
        for step in range(STEPS):
            text = json.dumps(bind, separators=(",", ":"))
            out.write('{"event":"step","program":1,"step":%d,"t":%d,"bind":%s}\n' % (step, 1000 * (step + 1), text))
            bind = []
            for i in range(CHANGES):
                slot = i * stride + step % stride
                current[slot] ^= 1
                bind.append([slot, 2 * slot + current[slot]])
        out.write('{"event":"end","identity":"backing","starts_mid_life":false,"lost_events":0,"counts":{}}\n')


def write_iolog(path, operations):
    """As many operations as remaplab makes driver calls, in fio's log format version 2."""
    with open(path, "w", encoding="utf-8") as out:
        out.write("fio version 2 iolog\n/remaplab add\n/remaplab open\n")
        for i in range(operations):
            out.write(f"/remaplab write {i % 65536 * 4096} 4096\n")
        out.write("/remaplab close\n")


def count_calls(remaplab, trace):
    text = subprocess.run(
        [remaplab, "replay", trace, "--backend", "null", "--strategy", "skip_remap", "--format", "json"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return sum(json.loads(text)["runs"][0]["calls"].values())


def compare_with_fio(remaplab, folder, repetitions):
    if shutil.which("fio") is None:
        print("fio is not installed: not compared\n")
        return
    trace, iolog, store = folder / "churn.remaptrace", folder / "churn.iolog", folder / "churn.sqlite"
    write_churn_trace(trace)
    calls = count_calls(remaplab, trace)
    write_iolog(iolog, calls)
    replay = [remaplab, "replay", trace, "--backend", "null", "--strategy", "skip_remap"]
    fio = ["fio", "--name=replay", "--ioengine=null", f"--read_iolog={iolog}", "--replay_no_stall=1", "--thread"]

    def replay_into_store():
        store.unlink(missing_ok=True)
        run([*replay, "--store", store])

    times = in_turn(
        {
            "remaplab replay": lambda: run(replay),
            "remaplab replay --store": replay_into_store,
            "fio": lambda: run(fio, cwd=folder),
        },
        repetitions,
    )
    print(f"{calls} operations, from the file to the end of the process:\n")
    print("| program | seconds | million operations/s | fio's time / this |\n|---|---|---|---|")
    for name, taken in times.items():
        print(f"| {name} | {taken:.2f} | {calls / taken / 1e6:.2f} | {times['fio'] / taken:.1f} |")
    print()


def compare_with_reference(remaplab, folder, log, assignment, module, repetitions):
    trace, store, database = folder / "run.remaptrace.zst", folder / "run.sqlite", folder / "reference.sqlite"

    def with_remaplab():
        store.unlink(missing_ok=True)
        run([remaplab, "capture", "--log", log, "--assignment", assignment, "-o", trace], stderr=subprocess.DEVNULL)
        words = [remaplab, "replay", trace, "--program", module, "--store", store]
        for strategy in STRATEGIES:
            words += ["--strategy", strategy]
        run(words)

    def with_python():
        database.unlink(missing_ok=True)
        run([sys.executable, REFERENCE, log, "--assignment", assignment, "--module", module, "--sqlite", database])

    times = in_turn({"remaplab capture + replay": with_remaplab, "Python reference": with_python}, repetitions)
    name = pathlib.Path(log).name
    print(f"{name}: from the log to the counts of three strategies in SQLite:\n")
    print("| program | seconds | Python's time / this |\n|---|---|---|")
    for program, taken in times.items():
        print(f"| {program} | {taken:.3f} | {times['Python reference'] / taken:.1f} |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("remaplab")
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    remaplab = os.path.abspath(arguments.remaplab)
    with tempfile.TemporaryDirectory(prefix="remaplab-peers-") as name:
        folder = pathlib.Path(name)
        compare_with_fio(remaplab, folder, arguments.repetitions)
        for run_name, module in (("tiny_vmm", "jit_step_fn"), ("tiny_l12_nodonate_vmm", "jit_step_fn")):
            for place in (EXAMPLES, ROOT.parent / "shared" / "captures"):
                log = place / f"{run_name}.log.gz"
                if log.exists():
                    assignment = place / f"{run_name}.buffer-assignment.txt.gz"
                    compare_with_reference(remaplab, folder, log, assignment, module, arguments.repetitions)
                    break


if __name__ == "__main__":
    main()
