#!/usr/bin/env python3
"""What the transport costs without an encoder, beside this machine's own limits, both in one run: CPU time and system calls a
packet over both ends. Prints the table of docs/results/product.md. Needs strace for the system calls.

    cargo build --release -p seaway-stream --example transport
    python3 validation/product/transport.py target/release/examples/transport
"""

import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

SECONDS = float(os.environ.get("SECONDS", 5))
RATES = [10, 100, 500, 1000, 2000, 3000]
TRACED = 100
RUNS = int(os.environ.get("RUNS", 5))
PORT = 5640
SIZE = 1172
UDP_SEGMENT, UDP_GRO = 103, 104


def spent(process):
    """CPU time of a process in seconds, and what it printed last."""
    line = process.stdout.read().strip().splitlines()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{process.args} ended with {status}")
    return usage.ru_utime + usage.ru_stime, json.loads(line[-1])


def session(program, rate, wrap=([], [])):
    """One session at `rate` Mbit/s."""
    address = f"127.0.0.1:{PORT}"
    pipe = {"stdout": subprocess.PIPE, "text": True}
    receiver = subprocess.Popen([*wrap[1], program, "recv", address], **pipe)
    time.sleep(1.0 if wrap[1] else 0.3)
    sender = subprocess.Popen([*wrap[0], program, "send", address, f"{rate} Mbit/s", f"{SECONDS} s"], **pipe)
    sending, sent = spent(sender)
    receiving, received = spent(receiver)
    return {**sent, **received, "send_us": sending / sent["sent"] * 1e6, "recv_us": receiving / received["received"] * 1e6}


def calls(program, rate):
    """System calls a packet at the sender and at the receiver."""
    with tempfile.TemporaryDirectory() as folder:
        files = [f"{folder}/{end}" for end in ("send", "recv")]
        wrap = [["strace", "-f", "-qq", "-c", "-o", file] for file in files]
        seen = session(program, rate, wrap)
        counts = []
        for file, packets in zip(files, (seen["sent"], seen["received"])):
            with open(file, encoding="utf-8") as table:
                total = next(line for line in table if line.rstrip().endswith("total"))
            counts.append(int(total.split()[3]) / packets)
    return counts


def plain(train, pause=0.0):
    """This machine's limit: CPU µs a packet of a loop that sends `train` packets a call and reads what came, in two processes. With
    a pause between two calls, by the clock and with the priority of a media thread, each is a wake-up at either end."""
    packets = PACED if pause else PLAIN
    ready, report = os.pipe()
    receiver = os.fork()
    if receiver == 0:
        drain(report, pause)
    port = int(os.read(ready, 16))
    sender = os.fork()
    if sender == 0:
        fill(port, train, packets, pause)
    used = []
    for process in (sender, receiver):
        _, status, usage = os.wait4(process, 0)
        if status:
            sys.exit(f"the plain loop ended with {status}")
        used.append(usage.ru_utime + usage.ru_stime)
    os.close(ready), os.close(report)
    return sum(used) / packets * 1e6


PLAIN = 200_000
PACED = 3_000
# Packets of 10 Mbit/s.
PAUSE = 1 / 1020


def make_real_time():
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    except PermissionError:
        pass


def fill(port, train, packets, pause):
    if pause:
        make_real_time()
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect(("127.0.0.1", port))
    if train > 1:
        sock.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, SIZE)
    data = bytes(SIZE * train)
    due = time.monotonic()
    for sent in range(0, packets, train):
        sock.send(data)
        if pause:
            due += pause
            time.sleep(max(due - time.monotonic(), 0))
        elif sent % (train * 8) == 0:
            time.sleep(0)
    time.sleep(0.2)
    sock.send(b"")
    os._exit(0)


def drain(report, pause):
    if pause:
        make_real_time()
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.IPPROTO_UDP, UDP_GRO, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    sock.bind(("127.0.0.1", 0))
    os.write(report, str(sock.getsockname()[1]).encode())
    buffer = bytearray(65536)
    while sock.recv_into(buffer):
        pass
    os._exit(0)


def median(rows, key):
    return statistics.median(row[key] for row in rows)


def main():
    program = os.path.abspath(sys.argv[1])
    rates = [int(rate) for rate in sys.argv[2:]] or RATES
    print("| Mbit/s | packets/s | send, µs a packet | recv, µs a packet | both | received of sent, % | timers late, p99, ms |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for rate in rates:
        rows = [session(program, rate) for _ in range(RUNS)]
        both = statistics.median(row["send_us"] + row["recv_us"] for row in rows)
        share = statistics.median(100 * row["received"] / row["sent"] for row in rows)
        print(f"| {rate} | {median(rows, 'sent') / SECONDS:.0f} | {median(rows, 'send_us'):.2f} | {median(rows, 'recv_us'):.2f} | {both:.2f} | {share:.2f} | {median(rows, 'late_p99_ms'):.2f} |", flush=True)
    if shutil.which("strace"):
        sending, receiving = calls(program, TRACED)
        print(f"\nSystem calls a packet at {TRACED} Mbit/s: {sending:.2f} at the sender, {receiving:.2f} at the receiver.")
    for train in (1, 8, 32):
        print(f"Plain loop of {train} a call: {statistics.median(plain(train) for _ in range(RUNS)):.2f} µs a packet, both ends.")
    print(f"Plain loop of 1 a call, 1020 calls a second: {statistics.median(plain(1, PAUSE) for _ in range(RUNS)):.2f} µs a packet, both ends.")


if __name__ == "__main__":
    main()
