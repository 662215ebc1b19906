#!/usr/bin/env python3
"""One scenario in the simulator, through the relay, between namespaces, and the kernel's own shaper beside them.

Needs root, iperf3, iproute2 and seaway (or $SEAWAY); writes docs/results/emulate.md. A run whose lateness passed its bound
is left out.
"""

import json
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SEAWAY = os.environ.get("SEAWAY", str(ROOT / "target/release/seaway"))
SECONDS = int(os.environ.get("SECONDS", 30))
RATE, DELAY, PACKETS = 10, 20, 100
LINK = f"""schema = 1
name = "lane"
duration = "600 s"
warmup = "0 s"

[[link]]
name = "lane"
from = "near"
to = "far"
both = true
rate = "{RATE} Mbit/s"
delay = "{DELAY} ms"
queue = {{ kind = "drop-tail", packets = {PACKETS} }}

"""
ATTACH = '[[attach]]\nnode = "near"\n{0}\n\n[[attach]]\nnode = "far"\n{1}\n'


def sh(command, check=True):
    return subprocess.run(command, shell=True, check=check, capture_output=True, text=True).stdout


class Emulator:
    """`seaway emulate` while it runs."""

    def __init__(self, near, far, link=LINK):
        text = link + ATTACH.format(near, far)
        self.process = subprocess.Popen([SEAWAY, "emulate", "-", "--json"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.process.stdin.write(text)
        self.process.stdin.close()
        while "far is at" not in self.process.stderr.readline():
            pass

    def end(self):
        self.process.send_signal(signal.SIGINT)
        report = json.loads(self.process.stdout.read())
        self.process.wait()
        return report


def probe(near, far):
    """Goodput and round-trip time by the kernel's own TCP and ping between two namespaces, for Reno and CUBIC."""
    results = {}
    for algorithm in ("reno", "cubic"):
        server = subprocess.Popen(["ip", "netns", "exec", far, "iperf3", "-s", "-1"], stdout=subprocess.DEVNULL)
        time.sleep(1)
        ping = subprocess.Popen(["ip", "netns", "exec", near, "ping", "-i", "0.05", "-c", str(SECONDS * 20 - 60), "10.99.0.2"],
                                stdout=subprocess.PIPE, text=True)
        text = sh(f"ip netns exec {near} iperf3 -c 10.99.0.2 -t {SECONDS} -C {algorithm} -J")
        report = json.loads(text)
        times = [float(line.split("time=")[1].split()[0]) for line in ping.communicate()[0].splitlines() if "time=" in line]
        server.wait()
        results[algorithm] = (report["end"]["sum_received"]["bits_per_second"] / 1e6, statistics.mean(times),
                              statistics.quantiles(times, n=20)[-1])
    return results


def namespaces():
    emulator = Emulator('tun = "swv0"', 'tun = "swv1"')
    hosts = [f"swv{os.getpid()}{end}" for end in "nf"]
    try:
        for index, host in enumerate(hosts):
            sh(f"ip netns add {host}")
            sh(f"ip link set swv{index} netns {host}")
            sh(f"ip -n {host} addr add 10.99.0.{index + 1}/24 dev swv{index}")
            sh(f"ip -n {host} link set swv{index} up")
        results = probe(*hosts)
    finally:
        report = emulator.end()
        for host in hosts:
            sh(f"ip netns del {host}", check=False)
    return results, report["lateness"]


def shaper():
    """A veth pair with tbf, and netem's delay where the kernel has it."""
    hosts = [f"swt{os.getpid()}{end}" for end in "nf"]
    try:
        for host in hosts:
            sh(f"ip netns add {host}")
        sh(f"ip link add swt netns {hosts[0]} type veth peer name swt netns {hosts[1]}")
        for index, host in enumerate(hosts):
            sh(f"ip -n {host} addr add 10.99.0.{index + 1}/24 dev swt")
            sh(f"ip -n {host} link set swt up")
            # Frames count 14 octets more than packets; a burst of one is what it takes without them coming in bunches.
            rate = RATE * 1514 / 1500
            sh(f"ip netns exec {host} ethtool -K swt tso off gso off gro off", check=False)
            sh(f"ip netns exec {host} tc qdisc add dev swt root handle 1: tbf rate {rate:.4f}mbit burst 1600 limit {PACKETS * 1514}")
        results = probe(*hosts)
    finally:
        for host in hosts:
            sh(f"ip netns del {host}", check=False)
    return results


def simulator(delay):
    """Goodput in Mbit/s as iperf3 counts it, and the mean and p95 of a datagram's round trip beside the TCP flow."""
    results = {}
    for algorithm, ours in (("reno", "sack"), ("cubic", "cubic")):
        flows = (f'[[flow]]\nname = "tcp"\nkind = "tcp"\nalgorithm = "{ours}"\nfrom = "near"\nto = "far"\nmin_rto = "200 ms"\n'
                 f'[[flow]]\nname = "ping"\nkind = "udp"\nfrom = "near"\nto = "far"\nrate = "13.44 kbit/s"\npacket = "84 B"\n')
        text = (LINK + flows).replace("600 s", f"{SECONDS} s").replace(f'delay = "{DELAY} ms"', f'delay = "{delay} ms"')
        summary = json.loads(subprocess.run([SEAWAY, "sim", "-", "--json"], input=text, check=True,
                                            capture_output=True, text=True).stdout)
        tcp, ping = summary["flows"]
        # Of 1500 B the kernel's segment carries 1448, ours 1460; our goodput counts whole datagrams.
        goodput = tcp["goodput_bps"] / 1e6 * 1448 / 1500
        waits = ping["queue_delay_ms"]
        results[algorithm] = (goodput, waits["mean"] + 2 * delay, waits["p95"] + 2 * delay)
    return results


def datagrams_simulated(size=1000, rate=12.0):
    """The same datagrams in the simulator: what arrives in Mbit/s, mean and p95 of the waiting in ms."""
    flow = f'[[flow]]\nname = "udp"\nkind = "udp"\nfrom = "near"\nto = "far"\nrate = "{rate} Mbit/s"\npacket = "{size} B"\n'
    text = (LINK + flow).replace("600 s", "6 s").replace('warmup = "0 s"', 'warmup = "2 s"')
    done = subprocess.run([SEAWAY, "sim", "-", "--json"], input=text, check=True, capture_output=True, text=True)
    (udp,) = json.loads(done.stdout)["flows"]
    return udp["received_bps"] / 1e6, udp["queue_delay_ms"]["mean"], udp["queue_delay_ms"]["p95"]


def relay(datagrams=10_000, size=972, rate=12.0):
    """Datagrams at 12 Mbit/s through the 10 Mbit/s relay: what arrives in Mbit/s, mean and p95 of the waiting in ms."""
    far = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    far.bind(("127.0.0.1", 0))
    far.settimeout(2)
    near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    port = 45_004
    emulator = Emulator(f'udp = "127.0.0.1:{port}"', f'udp = "127.0.0.1:{port + 1}"\npeer = "127.0.0.1:{far.getsockname()[1]}"')
    arrivals = []

    def receive():
        while True:
            try:
                data = far.recv(2000)
            except TimeoutError:
                return
            arrivals.append((time.monotonic(), int.from_bytes(data[:8], "big") / 1e9))

    thread = threading.Thread(target=receive)
    thread.start()
    begin = time.monotonic()
    for index in range(datagrams):
        due = begin + index * (size + 28) * 8 / rate / 1e6
        time.sleep(max(0, due - time.monotonic()))
        near.sendto(time.monotonic_ns().to_bytes(8, "big") + bytes(size - 8), ("127.0.0.1", port))
    thread.join()
    lateness = emulator.end()["lateness"]
    middle = [(at, sent) for at, sent in arrivals if begin + 2 < at < begin + 6]
    rate = (len(middle) - 1) * (size + 28) * 8 / (middle[-1][0] - middle[0][0]) / 1e6
    # Without the propagation and the datagram's own 0.8 ms.
    waits = sorted((at - sent) * 1e3 - DELAY - (size + 28) * 8 / RATE / 1e3 for at, sent in middle)
    return rate, statistics.mean(waits), waits[len(waits) * 95 // 100], lateness


def verdict(ours, theirs, waits):
    """Means within 3 %, p95 of the waiting within 5 ms."""
    held = abs(theirs / ours - 1) <= 0.03 and abs(waits[1] - waits[0]) <= 5
    return "held" if held else "**missed**"


def main():
    inside, lateness = namespaces()
    simulated = simulator(DELAY)
    rows = [("simulator, our TCP", simulated), ("namespaces, the kernel's TCP", inside)]
    near = [("simulator without delay, our TCP", simulator(0)), ("veth and tbf, the kernel's TCP", shaper())]
    print(f"{SECONDS} s each. {RATE} Mbit/s, {DELAY} ms each way, drop-tail of {PACKETS} packets. Lateness of the namespaces' emulator: "
          f"p50 {lateness['p50_ms']:.3f}, p99 {lateness['p99_ms']:.3f}, at most {lateness['max_ms']:.2f} ms; "
          f"{'held' if lateness['held'] else 'missed: the run is void'}.\n")
    print("| network | TCP | goodput Mbit/s | round trip, mean ms | p95 ms |\n| --- | --- | --- | --- | --- |")
    for name, results in rows + near:
        for algorithm, (goodput, mean, tail) in results.items():
            print(f"| {name} | {algorithm} | {goodput:.2f} | {mean:.1f} | {tail:.1f} |")
    ours, (rate, mean, tail, late) = datagrams_simulated(), relay()
    print(f"\nDatagrams of 1000 B, 12 Mbit/s of them into 10; the relay's lateness p99 {late['p99_ms']:.3f} ms, "
          f"{'held' if late['held'] else 'missed: the run is void'}.\n")
    print("| network | arrives Mbit/s | waiting, mean ms | p95 ms |\n| --- | --- | --- | --- |")
    print(f"| simulator | {ours[0]:.3f} | {ours[1]:.1f} | {ours[2]:.1f} |\n| relay | {rate:.3f} | {mean:.1f} | {tail:.1f} |\n")
    print("Bounds: means within 3 %, p95 of the waiting time within 5 ms of the simulator's.\n\n| network | |\n| --- | --- |")
    for algorithm, (goodput, _, wait) in simulated.items():
        print(f"| namespaces, {algorithm} | {verdict(goodput, inside[algorithm][0], (wait, inside[algorithm][2]))} |")
    print(f"| relay | {verdict(ours[0], rate, (ours[2], tail))} |")


if __name__ == "__main__":
    main()
