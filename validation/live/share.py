#!/usr/bin/env python3
"""`seaway send` beside one TCP of the kernel, and the same two flows in the simulator.

Sender and iperf3 in one network namespace, receivers in another; between them `seaway emulate`, or a veth pair with the kernel's TBF.
The bundled clip is sent, of which the encoder makes up to 8 Mbit/s. Rates are what arrives from SKIP seconds on, by the counters of the receivers;
shares are of half of what both have. Needs root, iperf3, iproute2, the kernel's reno, cubic and bbr, and seaway (or $SEAWAY).
A run whose lateness passed its bound is void.
"""

import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "validation/emulate"))
from compare import SEAWAY, sh
from share import Namespaces, iperf, link

RATE, QUEUE = 4, 100
SKIP, SECONDS = 20, 60
CLIP = str(ROOT / "assets/bigbuckbunny_720p.mp4")
NEAR, FAR, PORT = "10.98.0.1", "10.98.0.2", 5004
SIMULATED = {"reno": "sack", "cubic": "cubic", "bbr": "bbr"}


class Tbf:
    """A veth pair with the kernel's token bucket: no delay of its own."""

    counter = itertools.count()

    def __init__(self):
        number = next(self.counter)
        self.hosts = [f"swl{os.getpid()}{end}{number}" for end in "nf"]
        for host in self.hosts:
            sh(f"ip netns add {host}")
        sh(f"ip link add swl netns {self.hosts[0]} type veth peer name swl netns {self.hosts[1]}")
        for host, address in zip(self.hosts, (NEAR, FAR)):
            sh(f"ip -n {host} addr add {address}/24 dev swl")
            sh(f"ip -n {host} link set swl up")
            sh(f"ip netns exec {host} ethtool -K swl tso off gso off gro off", check=False)
        limit = RATE * 125 * QUEUE
        sh(f"ip netns exec {self.hosts[0]} tc qdisc add dev swl root handle 1: tbf rate {RATE * 1514 / 1500:.4f}mbit burst 1600 limit {limit}")

    def end(self):
        for host in self.hosts:
            sh(f"ip netns del {host}", check=False)
        return {"held": True}


def received(host):
    """Octets of IP datagrams that arrived."""
    rows = sh(f"ip netns exec {host} nstat -asz IpExtInOctets").splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith("IpExtInOctets"))


def live(network, algorithm, folder):
    """Mbit/s of datagrams of ours and of the TCP."""
    near, far = network.hosts
    media = []
    try:
        command = iperf(network.hosts, algorithm, 5201, SECONDS - SKIP, SKIP)
        common = ["--insecure", "--duration", f"{SECONDS + 6} s", "--json"]
        receive = [SEAWAY, "recv", f"rtp://{FAR}:{PORT}", "-o", f"{folder}/{algorithm}.mp4", *common]
        send = [SEAWAY, "send", CLIP, f"rtp://{FAR}:{PORT}", "--repeat", "--rate", "0.15..8Mbit/s", *common]
        for host, arguments in ((far, receive), (near, send)):
            media.append(subprocess.Popen(["ip", "netns", "exec", host, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True))
            time.sleep(1)
        tcp = subprocess.Popen(command.split(), stdout=subprocess.PIPE, text=True)
        time.sleep(SKIP)
        before, began = received(far), time.monotonic()
        time.sleep(SECONDS - SKIP - 1)
        after, passed = received(far), time.monotonic() - began
        report = json.loads(tcp.communicate()[0])
    finally:
        for process in media:
            process.communicate()
        lateness = network.end()
    if not lateness["held"]:
        return None
    theirs = report["end"]["sum_received"]["bits_per_second"] / 1e6 * 1500 / 1448
    both = 8e-6 * (after - before) / passed
    return both - theirs, theirs


def simulated(algorithm, way):
    """The same in the simulator."""
    text = link(RATE, QUEUE).replace("600 s", f"{SECONDS} s").replace('warmup = "0 s"', f'warmup = "{SKIP} s"')
    text = text.replace('delay = "25 ms"', f'delay = "{way} ms"')
    text += '[[flow]]\nname = "video"\nkind = "media"\nfrom = "near"\nto = "far"\ncontrol = "seaway"\nsource = { kind = "frames" }\n'
    text += 'rate = { min = "150 kbit/s", start = "300 kbit/s", max = "8 Mbit/s" }\n'
    text += f'[[flow]]\nname = "tcp"\nkind = "tcp"\nalgorithm = "{SIMULATED[algorithm]}"\nfrom = "near"\nto = "far"\nmin_rto = "200 ms"\n'
    text += 'delayed_ack = true\nstart = "1 s"\n'
    done = subprocess.run([SEAWAY, "sim", "-", "--json"], input=text, check=True, capture_output=True, text=True)
    video, tcp = json.loads(done.stdout)["flows"]
    return video["received_bps"] / 1e6, tcp["goodput_bps"] / 1e6


def share(rates):
    return "void" if rates is None else f"{2 * rates[0] / sum(rates):.2f} ({rates[0]:.2f} and {rates[1]:.2f} Mbit/s)"


def main():
    print(f"{RATE} Mbit/s, {QUEUE} ms of queue, {SECONDS} s of which {SKIP} s do not count.\n")
    print("| link | TCP | our share, live | simulated |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for name, way, network in (("`seaway emulate`, 25 ms each way", 25, lambda: Namespaces(link(RATE, QUEUE))), ("TBF, no delay", 0, Tbf)):
            for algorithm in SIMULATED:
                row = [name, algorithm, share(live(network(), algorithm, folder)), share(simulated(algorithm, way))]
                print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
