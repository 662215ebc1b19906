#!/usr/bin/env python3
"""The tables of docs/results/peers.md from the file that `cargo run -- 5 FILE.json` writes."""

import json
import sys

MEANS = ["utilisation", "received", "queue_p50", "queue_p95", "loss", "jain", "settled", "convergence", "freezes", "frozen", "delay_p95", "psnr"]


def short(value):
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def score(scores, key, digits):
    if key not in scores:
        return "–"
    return f"{scores[key]['mean']:.{digits}f} ± {scores[key]['ci95']:.{digits}f}"


def table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + " --- |" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def main():
    card = json.load(open(sys.argv[1]))
    controls = [control if isinstance(control, str) else control["control"] for control in card["controls"]]
    for suite in card["suites"]:
        print(f"{suite['suite']}: means over {suite['cases']} cases and {card['seeds']} seeds:\n")
        keys = [key for key in MEANS if key in suite["scores"][0]]
        values = [[short(scores[key]["mean"]) for key in keys] for scores in suite["scores"]]
        table(["", *keys], [[f"`{control}`", *row] for control, row in zip(controls, values)])
    rfc = [case for case in card["cases"] if case["suite"] == "rfc8867"]
    cell = lambda scores: f"{score(scores, 'received', 2)}, {score(scores, 'queue_p95', 0)}" if scores else "–"
    table(["RFC 8867 case", *controls], [[case["name"], *map(cell, case["scores"])] for case in rfc if "ecn" not in case["name"]])
    curves = [case for case in card["cases"] if case["suite"] == "curves"]
    cell = lambda scores: score(scores, "utilisation", 1) if scores else "–"
    table(["curve", *controls], [[case["about"], *map(cell, case["scores"])] for case in curves])


if __name__ == "__main__":
    main()
