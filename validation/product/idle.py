#!/usr/bin/env python3
"""How often `seaway recv` wakes without a sender, by thread: `validation/product/idle.py target/release/seaway`."""

import pathlib
import subprocess
import sys
import time

SECONDS = 10


def switches(pid):
    """Voluntary context switches of each thread."""
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        status = (task / "status").read_text(encoding="utf-8")
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        found[task.name] = (fields["Name"], int(fields["voluntary_ctxt_switches"]))
    return found


def main():
    process = subprocess.Popen([sys.argv[1], "recv", "rtp://127.0.0.1:5677"], stdout=subprocess.DEVNULL)
    try:
        time.sleep(4)
        before = switches(process.pid)
        time.sleep(SECONDS)
        after = switches(process.pid)
    finally:
        process.terminate()
        process.wait()
    total = 0
    for task, (name, count) in after.items():
        woken = (count - before.get(task, (name, 0))[1]) / SECONDS
        total += woken
        print(f"{name}: {woken:.1f}/s")
    print(f"idle recv: {total:.1f} wake-ups a second")


if __name__ == "__main__":
    main()
