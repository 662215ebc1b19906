"""What a capture of a keyed session shows without the exported keys, and to whom with them."""

import collections
import pathlib
import shutil
import struct
import subprocess
import sys

from live import port, receive, send

DECRYPT = pathlib.Path(__file__).with_name("decrypt.py")
# What the description of a session and the names of its ends are marked by.
CLEAR = (b"SEAW", b"seaway", b"video")


def packets(octets, to=None):
    """The datagrams of a capture, to one port."""
    offset, found = 24, []
    while offset + 16 <= len(octets):
        length = struct.unpack_from(">I", octets, offset + 8)[0]
        packet = octets[offset + 16 : offset + 16 + length]
        if to is None or int.from_bytes(packet[22:24]) == to:
            found.append(packet[28:])
        offset += 16 + length
    return found


def kind_of(datagram):
    if len(datagram) < 12 or datagram[0] >> 6 != 2:
        return "handshake"
    return "rtcp" if 192 <= datagram[1] <= 223 else "rtp"


def tshark_elements(file, at):
    """How many RTP packets tshark reads, and in how many of them elements of a header extension."""
    fields = ["-T", "fields", "-e", "rtp.ssrc", "-e", "rtp.ext.rfc5285.id"]
    command = ["tshark", "-r", str(file), "-d", f"udp.port=={at},rtp", "-Y", f"rtp.version == 2 && udp.dstport == {at}", *fields]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return len(lines), sum(all(line.split("\t")) for line in lines)


def capture(binary, folder):
    at, tap, keys, opened = port(), folder / "wire.pcap", folder / "keys", folder / "opened.pcap"
    receiver = receive(binary, at, "--pcap", str(tap), "--export-keys", str(keys))
    sender = send(binary, at)
    receiver.wait_for(lambda line: (line.get("frames_displayed") or 0) > 250)
    sender.end()
    receiver.end()
    wire = packets(tap.read_bytes())
    kinds = collections.Counter(map(kind_of, wire))
    yield "the capture of 10 s", "packets", ", ".join(f"{count} {kind}" for kind, count in kinds.items()), "printed", True
    there = [datagram for datagram in packets(tap.read_bytes(), at) if kind_of(datagram) == "rtp"]
    readable = sum(datagram[12:14] in (b"\xbe\xde", b"\x10\x00") for datagram in there)
    yield "", "RTP packets with a header extension in clear", f"{readable} of {len(there)}", "none", readable == 0
    marks = sum(mark in datagram for datagram in wire for mark in CLEAR)
    yield "", f"{', '.join(mark.decode() for mark in CLEAR)} in clear", str(marks), "none", marks == 0
    counts = subprocess.run([sys.executable, DECRYPT, tap, keys, opened], capture_output=True, text=True).stdout.strip()
    refused = int(counts.rpartition("=")[2]) if counts else -1
    yield "decrypt.py with the exported keys", "packets opened", counts, "no packet refused", refused == 0
    if shutil.which("tshark"):
        sealed, shown = tshark_elements(tap, at), tshark_elements(opened, at)
        yield "tshark, the capture as it is", "packets with elements of an extension", f"{sealed[1]} of {sealed[0]}", "none", sealed[1] == 0
        yield "tshark, the capture that decrypt.py opened", "packets with elements of an extension", f"{shown[1]} of {shown[0]}", "all", shown[0] == shown[1] == len(there)
    if shutil.which("gst-launch-1.0"):
        yield from by_srtpdec(folder, tap, keys, at)


def by_srtpdec(folder, tap, keys, at):
    """GStreamer's decryptor on what the sender sent: its reports, and its media."""
    key = next(line.split()[1] for line in keys.read_text().splitlines() if line.startswith("sender-to-receiver "))
    for kind, bar in (("rtcp", "all"), ("rtp", "printed")):
        sealed = [datagram for datagram in packets(tap.read_bytes(), at) if kind_of(datagram) == kind]
        source = sealed[0][4:8] if kind == "rtcp" else sealed[0][8:12]
        part, out = folder / f"{kind}.pcap", folder / f"{kind}.opened"
        write_part(tap, part, at, kind)
        caps = (
            f"caps=application/x-srt{'c' if kind == 'rtcp' else ''}p,payload=(int)96,ssrc=(uint){int.from_bytes(source)},srtp-key=(buffer){key},"
            "srtp-cipher=(string)aes-128-gcm,srtp-auth=(string)null,srtcp-cipher=(string)aes-128-gcm,srtcp-auth=(string)null,roc=(uint)0"
        )
        pads = f"d.{kind}_sink srtpdec name=d d.{kind}_src"
        pipeline = f"filesrc location={part} ! pcapparse {caps} ! identity ! {pads} ! filesink location={out}"
        subprocess.run(["gst-launch-1.0", "-q", *pipeline.split()], capture_output=True, timeout=60)
        expected = sum(len(datagram) - (20 if kind == "rtcp" else 16) for datagram in sealed)
        got = out.stat().st_size if out.exists() else 0
        yield f"srtpdec with the exported key, {kind.upper()}", "octets opened", f"{got} of {expected} in {len(sealed)} packets", bar, bar == "printed" or got == expected


def write_part(tap, part, at, kind):
    """The packets of a kind to the receiver, as a capture of their own."""
    octets, offset = tap.read_bytes(), 24
    with open(part, "wb") as out:
        out.write(octets[:24])
        while offset + 16 <= len(octets):
            length = struct.unpack_from(">I", octets, offset + 8)[0]
            record = octets[offset : offset + 16 + length]
            offset += 16 + length
            if int.from_bytes(record[38:40]) == at and kind_of(record[44:]) == kind:
                out.write(record)
