#!/usr/bin/env python3
"""One CUBIC beside one BBR: the kernel's through `seaway emulate` between two namespaces, and ours in the simulator on the same link.

25 ms each way, drop-tail; BBR starts so long after CUBIC. Shares are of half of the link's rate, from SKIP seconds on. Needs root,
iperf3 with the kernel's cubic and bbr, iproute2 and seaway (or $SEAWAY). A run whose lateness passed its bound is left out.
"""

import itertools
import json
import os
import statistics
import subprocess
import sys
import time

from compare import SEAWAY, Emulator, sh

SETTINGS = ((4, 100), (10, 50), (10, 200))
STARTS = (0.0, 1.3, 2.6)
SKIP, SECONDS, WAY = 20, 60, 25
LINK = f"""schema = 1
name = "lane"
duration = "600 s"
warmup = "0 s"

[[link]]
name = "lane"
from = "near"
to = "far"
both = true
rate = "@RATE Mbit/s"
delay = "{WAY} ms"
queue = {{ kind = "drop-tail", time = "@QUEUE ms" }}
reverse = {{ rate = "100 Mbit/s", queue = {{ kind = "drop-tail", packets = 1000 }} }}

"""


def link(rate, queue):
    return LINK.replace("@RATE", str(rate)).replace("@QUEUE", str(queue))


class Namespaces:
    """The kernel at both ends of the emulated link."""

    counter = itertools.count()

    def __init__(self, text):
        self.emulator = Emulator('tun = "sws0"', 'tun = "sws1"', text)
        number = next(self.counter)
        self.hosts = [f"sws{os.getpid()}{end}{number}" for end in "nf"]
        for index, host in enumerate(self.hosts):
            sh(f"ip netns add {host}")
            sh(f"ip link set sws{index} netns {host}")
            sh(f"ip -n {host} addr add 10.98.0.{index + 1}/24 dev sws{index}")
            sh(f"ip -n {host} link set sws{index} up")

    def end(self):
        report = self.emulator.end()
        for host in self.hosts:
            sh(f"ip netns del {host}", check=False)
        return report["lateness"]


def iperf(hosts, algorithm, port, seconds, skip):
    """A server, and a client's command."""
    near, far = hosts
    subprocess.Popen(["ip", "netns", "exec", far, "iperf3", "-s", "-1", "-p", str(port)], stdout=subprocess.DEVNULL)
    return f"ip netns exec {near} iperf3 -c 10.98.0.2 -p {port} -t {seconds} -O {skip} -C {algorithm} -J"


def kernel(rate, queue, start):
    """Goodput of CUBIC and of BBR in Mbit/s."""
    network = Namespaces(link(rate, queue))
    try:
        commands = [iperf(network.hosts, "cubic", 5201, SECONDS - SKIP, SKIP), iperf(network.hosts, "bbr", 5202, SECONDS - SKIP, SKIP)]
        time.sleep(1)
        clients = []
        for command in commands:
            clients.append(subprocess.Popen(command.split(), stdout=subprocess.PIPE, text=True))
            time.sleep(start)
        reports = [json.loads(client.communicate()[0]) for client in clients]
    finally:
        lateness = network.end()
    if not lateness["held"]:
        print(f"void: lateness {lateness}", file=sys.stderr)
        return None
    return [report["end"]["sum_received"]["bits_per_second"] / 1e6 for report in reports]


def simulated(rate, queue, start):
    """The same in the simulator."""
    flow = '[[flow]]\nname = "{0}"\nkind = "tcp"\nalgorithm = "{0}"\nfrom = "near"\nto = "far"\nmin_rto = "200 ms"\ndelayed_ack = true\nstart = "{1} s"\n'
    text = (link(rate, queue) + flow.format("cubic", 0) + flow.format("bbr", start)).replace("600 s", f"{SECONDS} s")
    text = text.replace('warmup = "0 s"', f'warmup = "{SKIP} s"')
    done = subprocess.run([SEAWAY, "sim", "-", "--json"], input=text, check=True, capture_output=True, text=True)
    return [flow["goodput_bps"] / 1e6 for flow in json.loads(done.stdout)["flows"]]


def shares(run, rate, queue):
    """Means over the starts, and the least and most, of half of what both have."""
    found = [result for start in STARTS if (result := run(rate, queue, start))]
    if not found:
        return "void"
    columns = [[2 * result[index] / sum(result) for result in found] for index in (0, 1)]
    return " / ".join(f"{statistics.mean(column):.2f} ({min(column):.2f} to {max(column):.2f})" for column in columns)


def main():
    print(f"{SECONDS} s of which {SKIP} s do not count, {WAY} ms each way; BBR starts {', '.join(map(str, STARTS))} s after CUBIC. Means, least and most.\n")
    print("| link | the kernel's, CUBIC / BBR | simulated, CUBIC / BBR |\n| --- | --- | --- |")
    for rate, queue in SETTINGS:
        theirs = "-" if "--simulated" in sys.argv else shares(kernel, rate, queue)
        print(f"| {rate} Mbit/s, {queue} ms of queue | {theirs} | {shares(simulated, rate, queue)} |", flush=True)


if __name__ == "__main__":
    main()
