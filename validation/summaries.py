#!/usr/bin/env python3
"""Whether two `seaway` binaries give the same summary of every bundled scenario, bit for bit: `summaries.py BEFORE AFTER`.

Prints the scenarios whose summaries differ, the version aside; ends with 1 where there are any.
"""

import re
import subprocess
import sys


def output(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return re.sub(r'"seaway": "[^"]*"', "", done.stdout) + done.stderr


def main():
    before, after = sys.argv[1:]
    names = [line.split()[0] for line in output(before, "list", "scenarios").splitlines()]
    summaries = lambda name: {output(binary, "sim", name, "--json", "--no-timing") for binary in (before, after)}
    changed = [name for name in names if len(summaries(name)) > 1]
    print(f"{len(names)} scenarios, {len(changed)} differ", *changed, sep="\n")
    return bool(changed)


if __name__ == "__main__":
    sys.exit(main())
