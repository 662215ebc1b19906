#!/usr/bin/env python3
"""Attacks a keyed session on loopback, and measures what its protection costs. Writes the table of docs/results/security.md.

Arguments: the binary, else target/release/seaway, and how many seconds a flood lasts, else 120. Then parts (their names are below, and `flood of
…` is one flood alone): only these run, and nothing is written. Ends with 1 where a bar was missed.
The tab that floods needs Chromium and what the page's test installs, the capture GStreamer, tshark and the Python package cryptography, the
recordings ffprobe, GStreamer and root. What is not there is left out. Else Python's standard library only.
"""
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

import capture
import cost
import no_key
import on_path
import page
import recordings
from live import FLOOD_RATE, INPUT, ROOT


def main():
    binary = str(pathlib.Path(sys.argv[1]).resolve()) if len(sys.argv) > 1 else str(ROOT / "target" / "release" / "seaway")
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 120
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        parts = {
            "handshake": lambda: cost.handshake(binary, folder),
            "cost": lambda: cost.cost(binary, folder),
            "beside": lambda: no_key.beside(binary),
            "paused": lambda: no_key.paused(binary),
            "pauses": lambda: no_key.pauses(binary),
            "hellos": lambda: no_key.hellos(binary, folder),
            "tab": lambda: page.tab(binary),
            "settings": lambda: page.settings(binary),
            "half-open": lambda: page.half_open(binary),
            "capture": lambda: capture.capture(binary, folder),
            "recordings": lambda: recordings.recordings(binary),
            "path": lambda: on_path.path(binary),
            "replies": lambda: no_key.replies(binary, folder),
            "floods": lambda: no_key.floods(binary, seconds, folder),
            **{f"flood of {kind}": lambda kind=kind: no_key.floods(binary, seconds, folder, [kind]) for kind in no_key.FLOODS},
        }
        for part in sys.argv[3:] or [part for part in parts if not part.startswith("flood of")]:
            for row in parts[part]():
                rows.append(row)
                print(" | ".join(map(str, row)), flush=True)
    if not sys.argv[3:]:
        write(binary, rows)
    sys.exit(0 if all(row[-1] for row in rows) else 1)


def write(binary, rows):
    version = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    build = "release" if "release" in binary else "development (optimised, with overflow checks)"
    table = "\n".join(f"| {what} | {name} | {seen} | {bar} | {'held' if held else 'MISSED'} |" for what, name, seen, bar, held in rows)
    page = ROOT / "docs" / "results" / "security.md"
    _, section, by_hand = page.read_text().partition("\n## ")
    page.write_text(
        f"""# A keyed session under attack, and what its protection costs

Sender and receiver on loopback, `{INPUT}`, `--stats json`. Floods come with {FLOOD_RATE} datagrams a second from another process.
docs/security.md says what is protected.

Versions: {version}, {build} build; {platform.system()} {platform.release()}, {platform.machine()}, {os.cpu_count()} cores, load average
{os.getloadavg()[2]:.0f} over the last quarter of an hour.
Command: `python3 validation/security/attacks.py`.

| what | measured | seen | bar | |
| --- | --- | --- | --- | --- |
{table}
{section}{by_hand}"""
    )


if __name__ == "__main__":
    main()
