#!/usr/bin/env python3
"""remaplab and the reference count the same calls on every recording that both can read.

    agreement_test.py REMAPLAB EXAMPLES_DIR CAPTURES_DIR SCRATCH_DIR

Exit code 77 (ctest: skipped) when not even the bundled recording is there.
"""

import json
import pathlib
import subprocess
import sys

from count_remaps import count

GRANULARITY = 2 * 1024 * 1024
THRESHOLD = 65_536
SKIPPED = 77

# Recorded in ALWAYS_UPDATE mode, which is what the reference reads.
RECORDINGS = {
    "tiny_vmm": "jit_step_fn",
    "llama2_7b_l8_vmm": "jit_step_fn",
    "llama2_7b_l8_scan_vmm": "jit_step_fn",
    "llama3_8b_l8_vmm": "jit_step_fn",
    "mt_llama2_7b_l8_vmm": "jit_train_step",
    "tiny_l12_nodonate_vmm": "jit_step_fn",
}


def run_json(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def compare(remaplab, log, assignment, module, scratch):
    """Lines that say where the two differ; none when they agree."""
    expected = count(str(log), str(assignment), module, GRANULARITY, THRESHOLD, devices=1)
    trace = scratch / f"{log.name}.remaptrace.zst"
    run_json(remaplab, "capture", "--log", log, "--assignment", assignment, "-o", trace)
    strategies = [word for name in expected["strategies"] for word in ("--strategy", name)]
    document = json.loads(
        run_json(
            remaplab, "replay", trace, "--program", module, "--granularity", str(GRANULARITY), "--format", "json", *strategies
        )
    )
    runs = {run["strategy"]: run for run in document["runs"]}
    differences = []
    for name, calls in expected["strategies"].items():
        run = runs[name]
        for key in ("steps", "slots", "changed_slot_steps"):
            if run[key] != expected[key]:
                differences.append(f"{name}: {key} is {run[key]}, the reference says {expected[key]}")
        for kind, n in calls.items():
            if run["calls"][kind] != n:
                differences.append(f"{name}: {kind} is {run['calls'][kind]}, the reference says {n}")
    mapped = runs["full_remap"]["bytes_mapped"]
    if mapped != expected["bytes_mapped"]:
        differences.append(f"bytes_mapped is {mapped}, the reference says {expected['bytes_mapped']}")
    return differences


def main():
    remaplab, examples, captures, scratch = sys.argv[1], *map(pathlib.Path, sys.argv[2:5])
    scratch.mkdir(parents=True, exist_ok=True)
    compared, failed = 0, False
    for name, module in RECORDINGS.items():
        folder = next((f for f in (examples, captures) if (f / f"{name}.log.gz").exists()), None)
        if folder is None:
            print(f"{name}: SKIPPED, the recording is not here")
            continue
        differences = compare(
            remaplab, folder / f"{name}.log.gz", folder / f"{name}.buffer-assignment.txt.gz", module, scratch
        )
        compared += 1
        failed = failed or bool(differences)
        print(f"{name}: " + ("agrees" if not differences else "DIFFERS"))
        for difference in differences:
            print(f"  {difference}")
    if compared == 0:
        return SKIPPED
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
