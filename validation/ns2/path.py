"""One network in ns-2 and in Seaway: the path of path.tcl and path.toml, with the same connections on it."""

import dataclasses
import json
import os
import pathlib
import subprocess

# Of our name of an algorithm, ns-2's agent and sink.
AGENTS = {"reno": ("Reno", ""), "newreno": ("Newreno", ""), "sack": ("Sack1", "/Sack1")}
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SEAWAY = os.environ.get("SEAWAY", str(ROOT / "target/release/seaway"))


@dataclasses.dataclass(frozen=True)
class Path:
    """Rates in Mbit/s, times in seconds, sizes in bytes; one way `delay` of the bottleneck, without its access links."""

    tfrcs: int = 0
    tcps: int = 0
    algorithm: str = "sack"
    rate: float = 15
    delay: float = 0.048
    packet: int = 1000
    queue: str = "DropTail"
    limit: int = 125
    loss: float = 0
    spread: float = 5
    begin: float = 20
    end: float = 120

    def base_rtt(self, data=None, report=40):
        """Without queues: propagation, and the serialisation of a packet there and of a report back."""
        octets = (data or self.packet) + report
        return 2 * (self.delay + 0.002) + octets * 8 / (self.rate * 1e6) + 2 * octets * 8 / 1e9


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Rates in Mbit/s of each connection, all received octets of TFRC, octets in order of TCP; the mean round trip."""

    tfrc: list
    tcp: list
    rtt: float


def ns2(path, seed, watch=True):
    agent, sink = AGENTS[path.algorithm]
    pairs = {
        "tfrcs": path.tfrcs, "tcps": path.tcps, "agent": agent, "sink": sink,
        "rate": path.rate * 1e6, "delay": path.delay, "packet": path.packet,
        "queue": path.queue, "limit": path.limit, "loss": path.loss, "spread": path.spread, "seed": seed,
        "from": path.begin, "to": path.end, "watch": int(watch),
    }
    command = ["ns", HERE / "path.tcl", *(part for pair in pairs.items() for part in pair)]
    text = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout
    octets, _, watched = text.partition("|")
    rates = [float(octets) * 8e-6 / (path.end - path.begin) for octets in octets.split()]
    wait = float(watched.split()[0]) if watch else 0
    return Outcome(rates[: path.tfrcs], rates[path.tfrcs :], path.base_rtt() + wait)


def scenario(path):
    """The text of the scenario."""
    kind = {"DropTail": f'kind = "drop-tail", packets = {path.limit}', "RED": f'kind = "red", packets_waiting = {path.limit}'}
    loss = f'\nloss = {{ kind = "independent", rate = {path.loss} }}' if path.loss else ""
    text = (HERE / "path.toml").read_text()
    text = text.replace('duration = "120 s"', f'duration = "{path.end} s"').replace('"20 s"', f'"{path.begin} s"')
    text = text.replace('"15 Mbit/s"', f'"{path.rate} Mbit/s"').replace('"48 ms"', f'"{path.delay * 1e3:g} ms"')
    text = text.replace('queue = { kind = "drop-tail", packets = 125 }', f"queue = {{ {kind[path.queue]} }}{loss}")
    shared = f'packet = "{path.packet} B"\nfrom = "source"\nto = "sink"\n'
    start = f'start = {{ uniform = ["0 s", "{path.spread} s"] }}\n'
    if path.tfrcs:
        media = 'name = "tfrc"\nkind = "media"\ncontrol = "tfrc(profile=ns2)"\nsource = { kind = "saturated" }\n'
        text += f"\n[[flow]]\n{media}{shared}{start}count = {path.tfrcs}\n"
    if path.tcps:
        tcp = f'name = "tcp"\nkind = "tcp"\nalgorithm = "{path.algorithm}"\nmin_rto = "200 ms"\ninitial_window = 2\n'
        text += f"\n[[flow]]\n{tcp}{shared}{start}count = {path.tcps}\n"
    return text


def seaway(path, seeds):
    """An outcome for each seed."""
    command = [SEAWAY, "sim", "-", "--json", "--seed", "1", "--seeds", str(seeds)]
    text = subprocess.run(command, check=True, capture_output=True, text=True, input=scenario(path)).stdout
    parsed = json.loads(text)
    outcomes = []
    for run in parsed.get("runs", [parsed]):
        tfrc = [flow for flow in run["flows"] if flow["kind"] == "media"]
        tcp = [flow["goodput_bps"] / 1e6 for flow in run["flows"] if flow["kind"] == "tcp"]
        packets = sum(flow["packets"]["received"] for flow in tfrc)
        rtts = [flow["path_rtt_ms"]["mean"] * flow["packets"]["received"] / 1e3 for flow in tfrc if flow["path_rtt_ms"]]
        rates = [flow["received_bps"] / 1e6 for flow in tfrc]
        outcomes.append(Outcome(rates, tcp, sum(rtts) / packets if packets else 0))
    return outcomes


def versions():
    def output(*command):
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    return f"Debian {output('dpkg-query', '-W', '-f', '${Package} ${Version}', 'ns2')}; {output(SEAWAY, '--version')}"


def write(name, text):
    """Writes docs/results/`name` whole or not at all."""
    result = ROOT / "docs/results" / name
    result.parent.mkdir(parents=True, exist_ok=True)
    beside = result.with_suffix(result.suffix + ".new")
    beside.write_text(text)
    beside.replace(result)
