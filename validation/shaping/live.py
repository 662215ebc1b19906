#!/usr/bin/env python3
"""Whether `seaway shape` keeps its delay and its rate live: programmes from one multicast group to another.

usage: live.py MASTERS WORK [--seaway BINARY] [--minutes 30] [--programs 3] [--each 4000] [--rate 9000] [--delay '1.5 s']

FFmpeg codes a transport stream of that many programmes, each of so many kbit/s, and plays it in a loop to 239.255.77.1 on the
loopback device; seaway shapes it to the rate for all of them and sends it to 239.255.77.2, where this script receives. Every ten
seconds: the resident memory. At the end: what seaway says of its delay, and what the receiver saw, read apart from it: gaps in the
continuity counters, the jitter of the clock references against their arrivals, how long pictures stay in the decoder's buffer, the video
rate of each second.
"""
import argparse, json, os, select, signal, socket, struct, subprocess, sys, time
import reader

CLIPS = ["crew_4cif.mp4", "city_4cif.mp4", "football_cif.mp4"]


def make(options):
    path = os.path.join(options.work, f"live-{options.programs}x{options.each}.ts")
    if os.path.exists(path):
        return path
    inputs, maps = "", ""
    for index in range(options.programs):
        inputs += f" -stream_loop -1 -t 60 -i {options.masters}/{CLIPS[index % len(CLIPS)]}"
        maps += (f" -map {index}:v -filter:v:{index} scale=704:576,setpts=N/25/TB -b:v:{index} {options.each}k -maxrate:v:{index} {options.each}k"
                 f" -bufsize:v:{index} 1835k -program st={index}")
    rate = int(options.programs * options.each * 1.12 + 300)
    subprocess.run(f"ffmpeg -nostdin -v error -y{inputs}{maps} -r 25 -t 60 -c:v mpeg2video -g 12 -bf 2 -threads 1 -f mpegts "
                   f"-muxrate {rate}k {path}", shell=True, check=True)
    return path


def join(group, port):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    sock.bind((group, port))
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, struct.pack("4s4s", socket.inet_aton(group), socket.inet_aton("127.0.0.1")))
    return sock


def memory(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


class Watch:
    """What comes out, packet by packet."""
    def __init__(self):
        self.counters, self.gaps, self.packets = {}, 0, 0
        self.transits, self.base, self.seconds = [], None, {}
        self.clocks, self.pictures, self.stays, self.late = {}, {}, [], 0

    def take(self, at, datagram):
        for start in range(0, len(datagram), 188):
            packet = datagram[start:start + 188]
            pid, control = reader.pid_of(packet), packet[3] >> 4 & 3
            self.packets += 1
            if pid != 0x1fff:
                self.seconds[int(at)] = self.seconds.get(int(at), 0) + 1
            if control & 1 and pid != 0x1fff:
                last, now = self.counters.get(pid), packet[3] & 15
                self.gaps += last is not None and now not in ((last + 1) & 15, last)
                self.counters[pid] = now
            if (pcr := reader.pcr_of(packet)) is not None:
                self.base = self.base or {}
                first = self.base.setdefault(pid, (pcr, at))
                self.transits.append((at - first[1]) - (pcr - first[0]) / 27e6)
                self.clocks[pid] = (pcr / 27e6, at)
            if pid in self.clocks:
                self.decode(pid, at, packet)

    def decode(self, pid, at, packet):
        """How long pictures wait for their decoding in the T-STD (13818-1, 2.4.2), and which come too late for it."""
        pcr, then = self.clocks[pid]
        arrival = pcr + at - then
        payload = reader.payload_of(packet) if packet[1] & 0x40 else b""
        if payload[:3] == b"\0\0\1" and payload[3] & 0xf0 == 0xe0 and payload[7] & 0x80:
            if pid in self.pictures:
                decoded, first, last = self.pictures[pid]
                self.stays.append(decoded - first)
                self.late += decoded < last
            stamp = reader.stamp(payload[14:19] if payload[7] & 0x40 else payload[9:14])
            # The stamps and the clock wrap at 2^33 periods of 90 kHz.
            decoded = arrival + ((stamp - arrival * 90e3 + (1 << 32)) % (1 << 33) - (1 << 32)) / 90e3
            self.pictures[pid] = decoded, arrival, arrival
        elif pid in self.pictures and packet[3] & 0x10:
            self.pictures[pid] = *self.pictures[pid][:2], arrival


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("masters"), parser.add_argument("work")
    parser.add_argument("--seaway", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../target/release/seaway"))
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--programs", type=int, default=3)
    parser.add_argument("--each", type=int, default=4000)
    parser.add_argument("--rate", type=int, default=9000)
    parser.add_argument("--delay", default="1.5 s")
    options = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)
    clip = make(options)
    out = join("239.255.77.2", 5002)
    shaper = subprocess.Popen([options.seaway, "shape", "udp://239.255.77.1:5001?interface=127.0.0.1", "udp://239.255.77.2:5002?interface=127.0.0.1&ttl=0",
                               "--programs", "all", "--rate", f"{options.rate} kbit/s", "--delay", options.delay, "--multiplex", "variable", "--stats", "json"],
                              stdout=open(os.path.join(options.work, "live.json"), "w"), stderr=subprocess.PIPE)
    time.sleep(1)
    programs = " ".join(f"-program st={index}" for index in range(options.programs))
    source = subprocess.Popen(f"exec ffmpeg -nostdin -v error -re -stream_loop -1 -i {clip} -map 0 -c copy {programs} -f mpegts -muxrate {int(options.programs * options.each * 1.15 + 500)}k "
                              "'udp://239.255.77.1:5001?localaddr=127.0.0.1&ttl=0&pkt_size=1316&buffer_size=4000000'", shell=True)
    watch, begin, noted, used = Watch(), time.monotonic(), 0, []
    while (now := time.monotonic() - begin) < 60 * options.minutes and source.poll() is None and shaper.poll() is None:
        if select.select([out], [], [], 0.5)[0]:
            watch.take(time.monotonic() - begin, out.recv(2048))
        if now - noted >= 10:
            noted = now
            used.append(memory(shaper.pid))
    ticks = os.sysconf("SC_CLK_TCK")
    with open(f"/proc/{shaper.pid}/stat") as stat:
        cpu = sum(map(int, stat.read().rsplit(")", 1)[1].split()[11:13])) / ticks
    shaper.send_signal(signal.SIGINT)
    said = shaper.communicate(timeout=20)[1].decode()
    source.terminate()
    print(said, end="")
    lines = [json.loads(line) for line in open(os.path.join(options.work, "live.json"))]
    end = lines[-1]
    settled = [line for line in lines if line["type"] == "sample" and line["time_s"] > 10]
    print(f"exit code {shaper.returncode}; {cpu / max(1e-3, now):.2f} cores; memory {used[0] / 1024:.1f} MB after 10 s, {used[len(used) // 2] / 1024:.1f} at half time, at most {max(used) / 1024:.1f} MB, {used[-1] / 1024:.1f} MB at the end")
    print(f"received {watch.packets} packets, {watch.gaps} gaps in continuity counters; source's clock found anew {end['resyncs']} times")
    transits = sorted(watch.transits)
    if transits:
        spread = transits[int(0.99 * len(transits))] - transits[int(0.01 * len(transits))]
        print(f"clock references against their arrivals: {1e3 * spread:.2f} ms between the first and the last hundredth")
    if stays := sorted(watch.stays):
        print(f"{len(stays)} pictures in the decoder's buffer: {stays[len(stays) // 2]:.3f} s in the middle, {stays[-1]:.3f} at most; {watch.late} came after their decoding")
    busy = sorted(count * 188 * 8 / 1e6 for second, count in list(watch.seconds.items())[10:-2])
    if busy:
        print(f"packets that are not null: {busy[len(busy) // 2]:.2f} Mbit/s in the middle second, {busy[-1]:.2f} in the fullest")
    if settled:
        rates = [sum(entry["rate_bps"] or 0 for entry in line["video"]) / 1e6 for line in settled]
        print(f"rates given: {min(rates):.3f} to {max(rates):.3f} Mbit/s in all; by programme at the end {[entry['rate_bps'] for entry in settled[-1]['video']]}")
    for program in end["programs"]:
        totals = program["totals"]
        print(f"programme {program['program']}: {totals['pictures']} pictures, {totals['rate_in_bps'] / 1e6:.3f} -> {totals['rate_out_bps'] / 1e6:.3f} Mbit/s")
    sys.exit(shaper.returncode != 0 or watch.gaps > 0)


main()
