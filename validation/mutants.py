#!/usr/bin/env python3
"""Which changes of the code does no test see? Prints the rows and the survivors for docs/results/mutants.md.

    validation/mutants.py                                        # all that is named below
    validation/mutants.py wire=0/60 crates/session/src/unwrap.rs # a sixtieth of a group; a file
    validation/mutants.py quick "crates/session/src/fec/**,crates/session/src/unwrap.rs" # in one build, without what is built alone
    validation/mutants.py library wire                           # by the tests of the library alone
    validation/mutants.py again wire                             # what survived or was left out when it last ran

cargo-mutants lists the changes. In a copy of the tree each function holds all its changed bodies, of which an environment variable
chooses one: a crate is built once, and each change costs one run of its tests, first of the library's, then of `tests/`. What rustc
rejects is unviable. What no function holds and what returns an `impl` is built alone, and so is what survives in a `const fn`, as
constants are computed before the variable is read. Needs cargo-mutants.
"""

import bisect
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "mutants"
TREE = TARGET / "tree"
OUTCOMES = TARGET / "outcomes.json"
GROUPS = {
    "session": "crates/session/src/**",
    "tfrc": "crates/control/src/tfrc/**",
    "queue": "crates/link/src/queue/**",
    "wire": "crates/wire/src/**",
    "protect": "crates/protect/src/**",
}
# What of `tests/` is run; the others take longer than all of these. A crate that is not named has all of it run.
TESTS = {
    "session": "exchange hostile forged_feedback receiver_reports media_server buffer streams breaker subflows window lanes "
    "controllers".split(),
    "control": "tfrc multfrc".split(),
}
# Seconds: a test of the library, and of `tests/`, that takes longer is left out.
LONG_TESTS = (0.06, 0.4)
# A change that makes its tests take so much longer is a timeout: of the processor, as other work on the machine is no fault of a change.
TIMEOUT = 3
HOOK = """
#[doc(hidden)]
pub(crate) const fn chosen_mutant() -> u32 {
    const fn none() -> u32 { 0 }
    fn chosen() -> u32 {
        static CHOSEN: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
        *CHOSEN.get_or_init(|| std::env::var("CHOSEN_MUTANT").map_or(0, |id| id.parse().unwrap()))
    }
    core::intrinsics::const_eval_select((), none, chosen)
}
"""
FEATURES = "#![feature(core_intrinsics, const_eval_select)]"


class Source:
    """A file, and its mutants by the function (of the outermost, the whole span) that holds them."""

    def __init__(self, path, mutants):
        self.path, self.text = path, (ROOT / path).read_text()
        self.starts = [0, *(match.end() for match in re.finditer("\n", self.text))]
        spans = {self.span(mutant["function"]["span"]) for mutant in mutants if mutant["function"]}
        outermost = [span for span in spans if not any(o != span and o[0] <= span[0] and span[1] <= o[1] for o in spans)]
        self.functions, self.loose = collections.defaultdict(list), []
        for mutant in mutants:
            start, end = mutant["at"] = self.span(mutant["span"])
            function = next((span for span in outermost if span[0] <= start and end <= span[1]), None)
            head = self.text[function[0] : self.body(function)] if function else ""
            mutant["const"] = re.search(r"\bconst (unsafe )?fn\b", head) is not None
            (self.functions[function] if function and "-> impl" not in head else self.loose).append(mutant)

    def span(self, span):
        return tuple(self.starts[span[end]["line"] - 1] + span[end]["column"] - 1 for end in ("start", "end"))

    def body(self, function):
        """Where the function's body begins: the first brace outside of parentheses after its name, of what is no comment."""
        code = re.sub("//.*", lambda comment: " " * len(comment[0]), self.text[slice(*function)])
        depth, at = 0, re.search(r"\bfn ", code).end()
        while code[at] != "{" or depth:
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(code[at], 0)
            at += 1
        return function[0] + at

    def changed(self, mutant, start=0, end=None):
        at = mutant["at"]
        return self.text[start : at[0]] + mutant["replacement"] + self.text[at[1] : end]

    def with_all(self, unviable):
        """The file with the bodies of all mutants, and at which line which begins (`None`: something else does)."""
        pieces, lines, done = [], [(0, None)], 0
        line = 1

        def push(piece, what):
            nonlocal line
            lines.append((line, what))
            pieces.append(piece)
            line += piece.count("\n")

        for (start, end), mutants in sorted(self.functions.items()):
            body = self.body((start, end))
            push(self.text[done:body] + "{ match crate::chosen_mutant() {\n", None)
            for mutant in mutants:
                if mutant["id"] not in unviable:
                    push(f"{mutant['id']} => {self.changed(mutant, body, end)}\n", mutant["id"])
            push(f"_ => {self.text[body:end]}\n}} }}", None)
            done = end
        push(self.text[done:], None)
        return "".join(pieces), lines


class Crate:
    """The mutants of one crate, and the copy of the tree they are built in."""

    def __init__(self, name, mutants):
        self.name, self.mutants, self.outcomes = name, mutants, {}
        by_file = collections.defaultdict(list)
        for number, mutant in enumerate(mutants, 1):
            mutant["id"] = number
            by_file[mutant["file"]].append(mutant)
        self.sources = {path: Source(path, of_file) for path, of_file in by_file.items()}

    def write(self, changed):
        """The tree as it is, but for these files."""
        tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
        library = f"crates/{self.name}/src/lib.rs"
        for path in filter(None, tracked.split("\0")):
            if not (ROOT / path).is_file():
                continue
            content = changed[path].encode() if path in changed else (ROOT / path).read_bytes()
            if path == library:
                content = f"{FEATURES}{content.decode()}{HOOK}".encode()
            if not (TREE / path).exists() or (TREE / path).read_bytes() != content:
                (TREE / path).parent.mkdir(parents=True, exist_ok=True)
                (TREE / path).write_bytes(content)
                shutil.copymode(ROOT / path, TREE / path)

    def cargo(self, verb, *arguments, level=0):
        """The errors, and the tests' binaries."""
        environment = {"CARGO_PROFILE_DEV_OPT_LEVEL": str(level), "RUSTC_BOOTSTRAP": f"seaway_{self.name}"}
        environment["RUSTFLAGS"] = "--cap-lints=allow"
        command = ["cargo", *verb, "-p", f"seaway-{self.name}", "--locked", "-j2", "--message-format=json", *arguments]
        command += ["--target-dir", TARGET / f"level{level}"]
        done = subprocess.run(command, cwd=TREE, env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = [json.loads(line) for line in done.stdout.splitlines()]
        errors = [of["message"] for of in said if of["reason"] == "compiler-message" and of["message"]["level"] == "error"]
        if done.returncode and not errors:
            sys.exit(done.stderr)
        built = [of for of in said if of["reason"] == "compiler-artifact" and of["profile"]["test"]]
        return errors, {of["target"]["name"]: of["executable"] for of in built}

    def build(self, unviable, *arguments, level=0):
        """The tests' binaries with all mutants; those that cannot be built join the unviable ones."""
        while True:
            written = {path: source.with_all(unviable) for path, source in self.sources.items()}
            self.write({path: text for path, (text, _) in written.items()})
            errors, _ = self.cargo(["check"], "--profile=test", "--lib", level=level)
            if not errors:
                errors, binaries = self.cargo(["test", "--no-run"], *arguments, level=level)
            if not errors:
                return binaries
            known = len(unviable)
            for error in errors:
                for span in filter(lambda span: span["is_primary"], error["spans"]):
                    while span["file_name"] not in written and span["expansion"]:
                        span = span["expansion"]["span"]
                    lines = written.get(span["file_name"], ("", [(0, None)]))[1]
                    found = lines[bisect.bisect(lines, span["line_start"], key=lambda of: of[0]) - 1][1]
                    unviable |= {found} - {None}
            if len(unviable) == known:
                sys.exit("\n".join(error["rendered"] for error in errors))

    def run(self, binary, chosen, tests, limit, *arguments):
        """`caught`, `timeout` or `survived`, and what was written."""
        command = [binary, "--test-threads=1", "-Zunstable-options", *arguments, "--exact", *tests]
        environment = {"CHOSEN_MUTANT": str(chosen), "RUSTC_BOOTSTRAP": "1", "RUST_BACKTRACE": "0", "RUST_MIN_STACK": str(1 << 27)}
        shell = ["sh", "-c", f'ulimit -c 0; ulimit -t {limit}; ulimit -v 1500000; exec "$@"', "sh", *command]
        folder = TREE / "crates" / self.name
        done = subprocess.run(shell, cwd=folder, env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        what = "survived" if done.returncode == 0 else "timeout" if -done.returncode in (9, 24) else "caught"
        return what, done.stdout

    def run_one(self, binary, chosen, mutant, tests, limit):
        """First the tests beside the code."""
        path = mutant["file"].split("/src/")[1].removesuffix(".rs").removesuffix("/mod").replace("/", "::")
        near, what = [name for name in tests if name.startswith(f"{path}::")], "survived"
        for part in filter(None, (near, sorted(set(tests) - set(near)))):
            what, _ = self.run(binary, chosen, part, limit, "--fail-fast")
            if what != "survived":
                break
        return what

    def run_all(self, binary, mutants, level=0):
        """Runs one binary's tests on each of the mutants that are left, after they have passed without one."""
        what, said = self.run(binary, 0, [], 900, "--report-time", "--format=json")
        if what != "survived":
            sys.exit(f"{binary}: fails without a mutant")
        passed = [of for of in map(json.loads, said.splitlines()) if of["type"] == "test" and of["event"] == "ok"]
        times = {of["name"]: of["exec_time"] for of in passed}
        tests = [name for name, seconds in times.items() if seconds <= LONG_TESTS[level]]
        limit = TIMEOUT + round(sum(times[name] for name in tests))
        print(f"{pathlib.Path(binary).name}: {len(mutants)} mutants; without {sorted(set(times) - set(tests))}", flush=True)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            run = lambda mutant: self.run_one(binary, mutant["id"], mutant, tests, limit)
            for mutant, what in zip(mutants, pool.map(run, mutants)):
                self.outcomes[mutant["id"]] = what
        return tests, limit

    def alone(self, mutant, tests, limit):
        source = self.sources[mutant["file"]]
        self.write({mutant["file"]: source.changed(mutant)})
        errors, binaries = self.cargo(["test", "--no-run"], "--lib")
        return "unviable" if errors else self.run_one(binaries[f"seaway_{self.name}"], 0, mutant, tests, limit)

    def left(self, among=None):
        return [mutant for mutant in (self.mutants if among is None else among) if self.outcomes.get(mutant["id"], "survived") == "survived"]

    def test(self, words):
        unviable, functions = set(), [of for source in self.sources.values() for of in source.functions.values()]
        held = [mutant for function in functions for mutant in function]
        library = self.build(unviable, "--lib")[f"seaway_{self.name}"]
        self.outcomes |= dict.fromkeys(unviable, "unviable")
        found = self.run_all(library, self.left(held))
        there = sorted(path.stem for path in (ROOT / "crates" / self.name / "tests").glob("*.rs"))
        tests = [name for name in TESTS.get(self.name, there) if name in there]
        if tests and self.left(held) and "library" not in words:
            binaries = self.build(unviable, *(f"--test={name}" for name in tests), level=1)
            for name in tests:
                if left := self.left(held):
                    self.run_all(binaries[name], left, level=1)
        loose = [mutant for source in self.sources.values() for mutant in source.loose]
        alone = loose + [mutant for mutant in self.left(held) if mutant["const"]]
        print(f"{len(alone)} alone", flush=True)
        self.outcomes |= {mutant["id"]: "left out" for mutant in loose}
        for mutant in [] if "quick" in words else alone:
            self.outcomes[mutant["id"]] = self.alone(mutant, *found)
        return {mutant["name"]: self.outcomes[mutant["id"]] for mutant in self.mutants}


def run(files, shard, words):
    """The outcome of each mutant of these files."""
    command = ["cargo", "mutants", "--list", "--json", *(f"-f={pattern}" for pattern in files)]
    command += ["--shard", shard] if shard else []
    mutants = json.loads(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout)
    earlier = json.loads(OUTCOMES.read_text()) if OUTCOMES.exists() else {}
    by_crate = collections.defaultdict(list)
    for mutant in mutants:
        if "again" not in words or earlier.get(mutant["name"]) in ("survived", "left out"):
            by_crate[mutant["file"].split("/")[1]].append(mutant)
    outcomes = {}
    for name, of_crate in by_crate.items():
        outcomes |= Crate(name, of_crate).test(words)
    OUTCOMES.write_text(json.dumps(earlier | outcomes, indent=0))
    return outcomes


def main():
    words = {"again", "library", "quick"} & set(sys.argv[1:])
    wanted = [argument for argument in sys.argv[1:] if argument not in words] or list(GROUPS)
    TARGET.mkdir(parents=True, exist_ok=True)
    for argument in wanted:
        group, _, shard = argument.partition("=")
        files = GROUPS.get(group, group).split(",")
        if not all("/" in pattern for pattern in files):
            sys.exit(f"no such group: {group}; there are: {', '.join(GROUPS)}")
        outcomes = run(files, shard, words)
        count = collections.Counter(outcomes.values())
        counts = " | ".join(str(count[what]) for what in ("caught", "timeout", "unviable", "survived"))
        print(f"| `{group}` | {f'{shard} of it' if shard else 'all'} | {len(outcomes)} | {counts} |")
        listed = [f"* `{name}`: {what}" for name, what in outcomes.items() if what in ("survived", "left out")]
        print("\n".join(listed) or "None survived.", flush=True)


if __name__ == "__main__":
    main()
