#!/usr/bin/env python3
"""Counts remap calls straight from an XLA log: a second opinion on `remaplab capture` and `remaplab replay`.

It shares no code with remaplab and takes the shortest way that the definitions allow, so that a person can check it by
reading. It reads one program (a module on one device) of a log that was recorded in ALWAYS_UPDATE mode, works out which
slots changed on each step, and counts what full_remap, skip_remap and skip_remap + copy_shadow would call.

    count_remaps.py LOG --assignment FILE --module jit_step_fn [--granularity BYTES] [--threshold BYTES]
                    [--devices N] [--json | --sqlite FILE]

Where the facts come from:
  slots          allocations that are neither constant nor thread-local and not empty, from XLA's buffer assignment dump
  which program  the table of addresses has no module name; the next "Prepared GPU executable module: M" of the same
                 thread has it
  what changed   the address in the table. The logger cuts lines at 15,000 bytes without saying so; what is missing from
                 a table is taken from the line "Buffer allocations changed address between module M executions"
Standard library only, Python 3.11.
"""

import argparse
import gzip
import json
import re
import sqlite3
import sys

LOGGER_LIMIT = 15_000  # bytes of one log entry; what is longer lost its end
CALLS = ("map", "unmap", "set_access", "wait", "copy")

PREFIX = re.compile(r"[IWEF]\d{4} [\d:]+\.\d{6} +(?P<thread>\d+) (?P<file>[\w.]+):\d+\] (?:\[(?P<device>-?\d+)\] )?")
TABLE_ENTRY = re.compile(r"Buffer (\d+) -> (0x[0-9a-f]+|\(nil\)|0) \((\d+) B\)")
PREPARED = re.compile(r"Prepared GPU executable module: (\S+) for execution")
CHANGED = re.compile(r"Buffer allocations changed address between module (\S+) executions: \[(.*)")
ASSIGNED = re.compile(r"allocation (\d+): size (\d+)(.*):$")


def open_text(path):
    opener = gzip.open if path.endswith(".gz") else open
    return opener(path, "rt", encoding="utf-8", errors="replace")


def read_slots(path):
    """{allocation index: size} of the allocations that are slots, in index order."""
    slots = {}
    with open_text(path) as lines:
        for line in lines:
            found = ASSIGNED.match(line)
            if found is None:
                continue
            index, size, rest = int(found[1]), int(found[2]), found[3]
            flags = [flag.strip() for flag in re.sub(r"\|.*\|", "", rest).split(",")]
            if size > 0 and "constant" not in flags and "thread-local" not in flags:
                slots[index] = size
    return dict(sorted(slots.items()))


def read_executions(path, module):
    """Yields (addresses, changed) per execution of the module: the table as far as it goes, as {index: address}, and the
    indices in the "changed address" line (empty when there is none: nothing changed, or it is the first execution)."""
    table_of = {}  # thread -> its last table, which waits for a module name
    running = {}  # thread -> the execution of our module that is being read
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            prefix = PREFIX.match(line)
            if prefix is None:
                continue
            thread, text = prefix["thread"], line[prefix.end() :]
            if text.startswith("Buffer allocations: "):
                if thread in running:
                    yield running.pop(thread)
                table_of[thread] = {int(i): address for i, address, _ in TABLE_ENTRY.findall(text)}
                continue
            if found := CHANGED.match(text):
                # It may stand before or after the "Prepared" line, always after the table.
                changed = {int(entry.split(":")[0]) for entry in found[2].rstrip("]\n").split(", ")}
                if found[1] == module and len(line.encode()) >= LOGGER_LIMIT - 1:
                    sys.exit(f"{path}:{number}: the list of changed allocations was cut by the logger")
                if thread in running:
                    running[thread] = (running[thread][0], changed)
                elif found[1] == module and thread in table_of:
                    running[thread] = (table_of.pop(thread), changed)
            elif (found := PREPARED.match(text)) and found[1] == module and thread in table_of:
                running[thread] = (table_of.pop(thread), set())
    yield from running.values()


def changed_slots(slots, executions):
    """Yields the list of slots that changed on each step, as positions in `slots`; None on the first step."""
    previous = None
    for addresses, changed in executions:
        if previous is None:
            yield None
        else:
            yield [
                position
                for position, index in enumerate(slots)
                if (
                    addresses[index] != previous[index]
                    if index in addresses and index in previous
                    else index in changed
                )
            ]
        previous = addresses


def count_runs(positions):
    """Maximal sequences of neighbours in an ascending list."""
    return sum(1 for i, position in enumerate(positions) if i == 0 or positions[i - 1] != position - 1)


def count_calls(sizes, steps, devices, skip, threshold):
    """Calls over all steps of full_remap or skip_remap, with slots up to `threshold` bytes shadowed (0: none)."""
    calls = dict.fromkeys(CALLS, 0)
    mapped_position = {}  # position among all slots -> position in the reservation
    for position, size in enumerate(sizes):
        if size > threshold:
            mapped_position[position] = len(mapped_position)
    mapped, shadowed = len(mapped_position), len(sizes) - len(mapped_position)
    for changed in steps:
        calls["copy"] += 2 * shadowed
        if mapped == 0:
            continue
        if changed is None:
            calls["map"] += mapped
            calls["set_access"] += devices
            continue
        moved = [mapped_position[position] for position in changed if position in mapped_position]
        if skip and not moved:
            continue
        calls["wait"] += 1
        calls["unmap"] += count_runs(moved) if skip else 1
        calls["map"] += len(moved) if skip else mapped
        calls["set_access"] += devices
    return calls


def count(log, assignment, module, granularity, threshold, devices):
    slots = read_slots(assignment)
    sizes = list(slots.values())
    steps = list(changed_slots(slots, read_executions(log, module)))
    if not steps:
        sys.exit(f"{log}: module {module} was never executed")
    return {
        "module": module,
        "steps": len(steps),
        "slots": len(slots),
        "bytes_mapped": sum(-(-size // granularity) * granularity for size in sizes),
        "changed_slot_steps": sum(len(changed) for changed in steps if changed is not None),
        "strategies": {
            "full_remap": count_calls(sizes, steps, devices, skip=False, threshold=0),
            "skip_remap": count_calls(sizes, steps, devices, skip=True, threshold=0),
            f"skip_remap+copy_shadow(threshold={threshold})": count_calls(
                sizes, steps, devices, skip=True, threshold=threshold
            ),
        },
    }


def write_sqlite(path, result):
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE IF NOT EXISTS calls(module TEXT, strategy TEXT, kind TEXT, n INTEGER) STRICT")
        database.executemany(
            "INSERT INTO calls VALUES(?, ?, ?, ?)",
            [
                (result["module"], strategy, kind, n)
                for strategy, calls in result["strategies"].items()
                for kind, n in calls.items()
            ],
        )


def print_table(result):
    print(
        f"{result['module']}: {result['steps']} steps, {result['slots']} slots, {result['bytes_mapped']} bytes mapped, "
        f"{result['changed_slot_steps']} changed slot-steps"
    )
    for strategy, calls in result["strategies"].items():
        print(f"  {strategy}: " + ", ".join(f"{kind} {n}" for kind, n in calls.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log")
    parser.add_argument("--assignment", required=True)
    parser.add_argument("--module", required=True)
    parser.add_argument("--granularity", type=int, default=2 * 1024 * 1024)
    parser.add_argument("--threshold", type=int, default=65_536)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--sqlite", metavar="FILE")
    arguments = parser.parse_args()
    result = count(
        arguments.log,
        arguments.assignment,
        arguments.module,
        arguments.granularity,
        arguments.threshold,
        arguments.devices,
    )
    if arguments.sqlite:
        write_sqlite(arguments.sqlite, result)
    if arguments.json:
        print(json.dumps(result))
    else:
        print_table(result)


if __name__ == "__main__":
    main()
