#!/usr/bin/env python3
"""Whether shaping keeps its promises: 20 streams by every method, read by a reader of its own.

usage: promises.py MASTERS WORK [--seaway BINARY] [--methods auto,window] [--streams name,name] [--ratios 0.8]
                   [--loop closed]

Each stream is shaped to a share of its mean rate as a file, through a pipe, and by a schedule of two rates. Checked: the mean
(0.1 % of a file, 0.2 % of a pipe, where the bucket lets so much through), the leaky bucket of a second, each second of a
schedule (3 %), the number of pictures, FFmpeg and libmpeg2 without a message and with the same number of frames, and of
transport streams every other PID, the PCR (0.5 us at a constant multiplex rate) and that no octet stays in the decoder's buffer for
more than a second. Needs ffmpeg, mpeg2enc and mpeg2dec.
"""
import argparse, os, re, subprocess, sys
import reader

METHODS = ["auto", "window", "memoryless", "causal", "rate-based", "requantize"]
CIF = "-bf 2 -g 12 -threads 1"
# Name, clip, filter, encoder, container; every clip in 12 s or what it has.
STREAMS = [
    ("mobile.m2v", "mobile_cif.mp4", "null", f"-c:v mpeg2video -b:v 3M -maxrate 3M -bufsize 1M {CIF}", "mpeg2video"),
    ("mobile.m1v", "mobile_cif.mp4", "null", f"-c:v mpeg1video -b:v 1150k -maxrate 1150k -bufsize 327680 {CIF}", "mpeg1video"),
    ("foreman-vcd.mpg", "foreman_cif.mp4", "null", f"-c:v mpeg1video -b:v 1150k -maxrate 1150k -bufsize 327680 -c:a mp2 -b:a 224k {CIF}", "vcd"),
    ("crew-interlaced.ts", "crew_4cif.mp4", "tinterlace=interleave_top,setfield=tff", f"-c:v mpeg2video -b:v 6M -maxrate 6M -bufsize 1835k -flags +ildct+ilme -alternate_scan 1 -c:a mp2 {CIF}", "mpegts -muxrate 8M"),
    ("galleon-422.ts", "galleon_422_ntsc.mp4", "crop=720:480:0:4", f"-c:v mpeg2video -pix_fmt yuv422p -b:v 12M -flags +ildct+ilme -c:a mp2 {CIF}", "mpegts"),
    ("paris-vbr.m2v", "paris_cif.mp4", "null", "-c:v mpeg2video -q:v 6 -g 15 -bf 0 -threads 1", "mpeg2video"),
    ("city-pulldown.m2v", "city_4cif.mp4", "scale=720:480", "mpeg2enc -f 3 -b 5000 -F 1 -p -R 2", None),
    ("crew-dvd.m2v", "crew_4cif.mp4", "scale=704:576", "mpeg2enc -f 8 -b 5000 -F 3 -I 1 -R 2", None),
    ("crew-closed.m2v", "crew_4cif.mp4", "scale=720:576", "-c:v mpeg2video -b:v 4M -g 15 -bf 2 -flags +cgop -sc_threshold 1000000000 -threads 1", "mpeg2video"),
    ("city-1080i.ts", "city_4cif.mp4", "scale=1440:1080,tinterlace=interleave_top,setfield=tff", f"-c:v mpeg2video -b:v 15M -maxrate 15M -bufsize 7M -flags +ildct+ilme -c:a ac3 {CIF}", "mpegts -muxrate 18M"),
    ("two-programmes.ts", "football_cif.mp4", "null", f"-c:v mpeg2video -b:v 2500k {CIF} -map 0:v -map 0:v -map 1:a -program st=0:st=2 -program st=1", "mpegts -muxrate 6500k"),
    ("dvd.vob", "galleon_422_ntsc.mp4", "crop=720:480:0:4", f"-c:v mpeg2video -pix_fmt yuv420p -b:v 5M -maxrate 8M -bufsize 1835k -c:a ac3 {CIF}", "dvd"),
    ("stefan.m2ts", "stefan_sif.mp4", "null", f"-c:v mpeg2video -b:v 2M -c:a mp2 {CIF}", "mpegts -mpegts_m2ts_mode 1"),
    ("akiyo-intra.m2v", "akiyo_cif.mp4", "null", "-c:v mpeg2video -q:v 3 -g 1 -intra_vlc 1 -threads 1", "mpeg2video"),
    ("bus-long-group.m2v", "bus_cif.mp4", "null", "-c:v mpeg2video -b:v 2M -g 300 -bf 1 -threads 1", "mpeg2video"),
    ("cuts-vbr.m2v", None, "null", "-c:v mpeg2video -q:v 5 -g 12 -bf 2 -threads 1", "mpeg2video"),
    ("carphone.m2v", "carphone_qcif.mp4", "null", "-c:v mpeg2video -b:v 600k -g 12 -bf 2 -threads 1", "mpeg2video"),
    ("football-mpeg2enc.m2v", "football_cif.mp4", "null", "mpeg2enc -f 3 -b 2500 -g 6 -G 18 -R 2 -F 3", None),
    ("news-low-delay.m2v", "news_cif.mp4", "null", "-c:v mpeg2video -b:v 1500k -g 50 -bf 0 -flags +low_delay -threads 1", "mpeg2video"),
    ("capture.ts", "city_4cif.mp4", "scale=720:576", f"-c:v mpeg2video -b:v 4M -maxrate 4M -bufsize 1835k -c:a mp2 {CIF}", "mpegts -muxrate 5M"),
]
CUTS = ["akiyo_cif.mp4", "football_cif.mp4", "news_cif.mp4", "mobile_cif.mp4"]
DEPTH = 1.0
# Where the bucket cuts below the mean, so much of it is used at least.
USED = 0.85


def run(command, **options):
    return subprocess.run(command, shell=isinstance(command, str), capture_output=True, **options)


def make(row, masters, work):
    name, clip, picture, encoder, container = row
    path = os.path.join(work, name)
    if os.path.exists(path):
        return path
    if clip is None:
        inputs = " ".join(f"-t 4 -i {masters}/{clip}" for clip in CUTS)
        chain = "".join(f"[{i}:v]scale=352:288,fps=25,setpts=N/25/TB[v{i}];" for i in range(len(CUTS)))
        join = "".join(f"[v{i}]" for i in range(len(CUTS)))
        source = f"ffmpeg -nostdin -v error -y {inputs} -filter_complex '{chain}{join}concat=n={len(CUTS)}'"
    elif encoder.startswith("mpeg2enc"):
        source = (f"ffmpeg -nostdin -v error -y -i {masters}/{clip} -vf {picture},setpts=N/25/TB -r 25 -frames:v 300 -pix_fmt yuv420p "
                  f"-f yuv4mpegpipe - | mpeg2enc -v 0 {encoder[9:]} -o {path}")
        encoder, container = "", None
    else:
        sound = "-f lavfi -i sine=frequency=440:sample_rate=44100:duration=12" if "-c:a" in encoder or "1:a" in encoder else ""
        source = f"ffmpeg -nostdin -v error -y -i {masters}/{clip} {sound} -vf {picture},setpts=N/25/TB -r 25 -t 12"
    done = run(source if container is None else f"{source} {encoder} -f {container} {path}")
    if done.returncode:
        sys.exit(f"{name}: {done.stderr.decode()}")
    if name == "capture.ts":
        data = open(path, "rb").read()
        open(path, "wb").write(data[77_777:])
    return path


def frames(path, video):
    """Frames by FFmpeg and by libmpeg2, and what they said."""
    counted = run(["ffmpeg", "-nostdin", "-v", "warning", "-i", path, "-map", "0:v:0", "-f", "framemd5", "-fps_mode", "passthrough", "-"])
    lines = [line for line in counted.stdout.decode().splitlines() if line and line[0] != "#"]
    said = [line for line in counted.stderr.decode().splitlines() if not re.search("duration|DTS|mjpeg|Timestamps|timestamps|frame rate", line)]
    with open(path + ".es", "wb") as file:
        file.write(video + b"\0\0\1\xb7")
    decoded = run(["mpeg2dec", "-o", "md5", path + ".es"])
    os.remove(path + ".es")
    complaints = [line for line in decoded.stderr.decode().splitlines() if line and not re.search("^libmpeg2|frames (decoded|in)", line)]
    return len(lines), decoded.stdout.count(b"\n"), said, complaints


class Stream:
    def __init__(self, path):
        self.data = open(path, "rb").read()
        self.video = reader.elementary(self.data)
        self.pictures = reader.pictures(self.video)
        self.seconds = sum(picture.seconds for picture in self.pictures)
        self.bits = 8 * len(self.video)
        self.packets = reader.packets_of(self.data)
        self.frames = frames(path, self.video)


def check(source, out, rates, tolerance, way):
    """What is wrong with an output."""
    wrong = []
    after = Stream(out)
    if len(after.pictures) != len(source.pictures):
        return [f"{len(after.pictures)} pictures of {len(source.pictures)}"]
    at = reader.schedule_of(rates, after.pictures)
    level = reader.fullest_bucket(after.pictures, at, DEPTH)
    if level > 1.0 + 1e-6:
        wrong.append(f"bucket {level:.4f}")
    if way == "schedule" and (second := reader.fullest_second(after.pictures, at)) > 1.03:
        wrong.append(f"a second at {second:.4f}")
    if way != "schedule":
        most, least = (reader.reachable(source.pictures, rates[0][1], share * DEPTH) for share in (1.0, USED))
        least -= reader.lacking(source.pictures, rates[0][1]) if way == "pipe" else 0
        if not (1 - tolerance) * least <= after.bits <= (1 + tolerance) * most:
            wrong.append(f"mean {after.bits / most - 1:+.3%} of {most / source.seconds / 1e6:.3f} Mbit/s")
    for what, (now, then) in {"FFmpeg": (after.frames[0], source.frames[0]), "libmpeg2": (after.frames[1], source.frames[1])}.items():
        if now != then:
            wrong.append(f"{what} has {now} frames of {then}")
    for now, then in zip(after.frames[2:], source.frames[2:]):
        if now and len(now) > len(then):
            wrong.append(f"says {now[0]}")
    if source.packets:
        pid, pcr = reader.video_pid(source.packets)
        if reader.others(source.packets, pid) != reader.others(after.packets, pid):
            wrong.append("another PID has changed")
        before, stamps = reader.clock_error(source.packets, pcr)
        error, kept = reader.clock_error(after.packets, pcr)
        if kept < stamps or error > max(before, 0.5e-6):
            wrong.append(f"PCR {error * 1e6:.2f} us off, {kept} of {stamps}")
        stay = reader.longest_stay(after.packets, pid, pcr)
        if stay > max(1.0, reader.longest_stay(source.packets, pid, pcr)):
            wrong.append(f"an octet stays {stay:.3f} s in the decoder's buffer")
    return wrong


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("masters"), parser.add_argument("work")
    parser.add_argument("--seaway", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../target/release/seaway"))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--loop", choices=["auto", "open", "closed"])
    parser.add_argument("--streams", default=",".join(row[0] for row in STREAMS))
    parser.add_argument("--ratios", default="0.8")
    parser.add_argument("--ways", default="file,pipe,schedule,multiplex")
    options = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)
    runs = failures = 0
    for row in (row for row in STREAMS if row[0] in options.streams.split(",")):
        path = make(row, options.masters, options.work)
        source = Stream(path)
        print(f"{row[0]}: {len(source.pictures)} pictures, {source.seconds:.2f} s, {source.bits / source.seconds / 1e6:.3f} Mbit/s", flush=True)
        for method in options.methods.split(","):
            for way in options.ways.split(","):
                for ratio in map(float, options.ratios.split(",")):
                    if way == "multiplex" and (not source.packets or row[0] == "stefan.m2ts"):
                        continue
                    wrong = shape(options, source, path, method, way, ratio)
                    runs, failures = runs + 1, failures + bool(wrong)
                    if wrong:
                        print(f"  {method} {way} {ratio}: " + "; ".join(wrong), flush=True)
    print(f"{runs} runs, {failures} failed")
    sys.exit(failures > 0)


def shape(options, source, path, method, way, ratio):
    rate = int(ratio * source.bits / source.seconds)
    rates, arguments = [(0.0, rate)], ["--rate", f"{rate} bit/s"]
    out = path + ".out"
    if way == "schedule":
        half = round(source.seconds / 2 - 0.3, 2)
        rates = [(0.0, rate), (half, int(0.75 * rate))]
        with open(path + ".rates", "w") as file:
            file.write("".join(f"{time} s, {rate} bit/s\n" for time, rate in rates))
        arguments = ["--rate-schedule", path + ".rates"]
    if way == "multiplex":
        multiplex = 8 * 188 * len(source.packets) / source.seconds
        arguments += ["--multiplex", f"{int(multiplex)} bit/s"]
    if options.loop and method in ("auto", "requantize"):
        arguments = [*arguments, "--loop", options.loop]
    command = [options.seaway, "shape", "-" if way == "pipe" else path, out, "--method", method, *arguments]
    with open(path, "rb") as file:
        # A pipe, not a file: its length is not known.
        feed = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE) if way == "pipe" else None
        done = run(command, stdin=feed.stdout if feed else subprocess.DEVNULL)
    if done.returncode:
        said = [line for line in (done.stdout + done.stderr).decode().splitlines() if line.startswith("MISSED") or done.returncode != 3]
        return [f"exit {done.returncode}: {' '.join(said)}"]
    # A pipe has 10 s to find its mean; in less time half a picture is the most that it misses it by.
    tolerance = 0.001 if way in ("file", "multiplex") else max(0.002, 0.5 / len(source.pictures) if source.seconds < 10 else 0)
    return check(source, out, rates, tolerance, way)


main()
