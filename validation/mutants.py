#!/usr/bin/env python3
"""Which changes of the code does no test see? Runs cargo-mutants and writes docs/results/mutants.md.

    validation/mutants.py                              # everything named below: a day
    validation/mutants.py wire=0/60 steady_clock       # a sixtieth of wire, all of one file

Each group is tested by its own crate's tests. Needs cargo-mutants.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/results/mutants.md"
GROUPS = {
    "session": ["crates/session/src/**"],
    "tfrc": ["crates/control/src/tfrc/**"],
    "queue": ["crates/link/src/queue/**"],
    "wire": ["crates/wire/src/**"],
    "protect": ["crates/protect/src/**"],
    "replay": ["crates/protect/src/replay.rs", "crates/protect/src/srtp/source.rs", "crates/protect/src/handshake/budget.rs"],
    "steady_clock": ["crates/session/src/feedback/steady_clock.rs"],
    "receive": [f"crates/session/src/receive/{file}.rs" for file in ("reports", "reception")],
    "breaker": ["crates/session/src/circuit_breaker.rs"],
    "numbers": ["crates/session/src/unwrap.rs", "crates/session/src/source_id.rs"],
    "loss_events": ["crates/control/src/tfrc/loss_events.rs"],
    "receive_limit": ["crates/control/src/tfrc/receive_limit.rs"],
    "nofeedback": ["crates/control/src/tfrc/nofeedback.rs", "crates/control/src/tfrc/data_limited.rs"],
    "fields": [
        *(f"crates/wire/src/{file}.rs" for file in ("bytes", "list", "rtp")),
        *(f"crates/wire/src/rtcp/{file}.rs" for file in ("feedback", "nack", "remb", "tfrc", "nada", "reception")),
    ],
}
WHOLE = ["session", "tfrc", "queue", "wire", "protect"]


def run(group, shard):
    """The outcomes of a group: (what, mutant) of each."""
    with tempfile.TemporaryDirectory() as folder:
        files = [argument for pattern in GROUPS[group] for argument in ("-f", pattern)]
        command = ["cargo", "mutants", "-j1", "-o", folder, *files, *(["--shard", shard] if shard else [])]
        status = subprocess.run(command, cwd=ROOT).returncode
        # 2: some were missed; 3: some took too long. Else nothing was tried.
        if status not in (0, 2, 3):
            sys.exit(f"{group}: cargo mutants ended with {status}")
        outcomes = json.loads((pathlib.Path(folder) / "mutants.out/outcomes.json").read_text())["outcomes"]
    mutants = [outcome for outcome in outcomes if outcome["scenario"] != "Baseline"]
    return [(outcome["summary"], outcome["scenario"]["Mutant"]["name"]) for outcome in mutants]


def main():
    wanted = [argument.partition("=")[::2] for argument in sys.argv[1:]] or [(group, "") for group in WHOLE]
    unknown = [group for group, _ in wanted if group not in GROUPS]
    if unknown:
        sys.exit(f"no such group: {', '.join(unknown)}; there are: {', '.join(GROUPS)}")
    rows, survivors = [], []
    for group, shard in wanted:
        outcomes = run(group, shard)
        count = lambda what: sum(summary == what for summary, _ in outcomes)
        part = f"{shard} of it" if shard else "all"
        rows.append(
            f"| `{GROUPS[group][0]}` | {part} | {len(outcomes)} | {count('CaughtMutant')} "
            f"| {count('Timeout')} | {count('Unviable')} | {count('MissedMutant')} |"
        )
        survivors += [name for summary, name in outcomes if summary == "MissedMutant"]
    listed = "\n".join(f"* `{name}`" for name in survivors) or "None."
    PAGE.write_text(
        "# Mutants\n\n"
        "What `make mutants` found: small changes of the code (cargo-mutants), each tested by its own crate's tests. A change that\n"
        "does not build is unviable; one that ends in a timeout was noticed. Survivors are what no test sees.\n\n"
        "| files | part | mutants | caught | timeouts | unviable | survived |\n| --- | --- | --- | --- | --- | --- | --- |\n"
        + "\n".join(rows)
        + "\n\n## Survivors\n\n"
        + listed
        + "\n"
    )
    print(f"{len(survivors)} survived: {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
