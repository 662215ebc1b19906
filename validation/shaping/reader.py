"""An independent reader of MPEG video in elementary, program, system and transport streams: sizes and display times of the
pictures, the packets around them, and what a ceiling on the rate asks of them. It shares no code with Seaway."""
import struct

CODES = bytes([0, 0, 1])
RATES = [0, 24000 / 1001, 24, 25, 30000 / 1001, 30, 50, 60000 / 1001, 60]


def packets_of(data):
    """The packets of a transport stream with 188, 192 or 204 octets each, as lists of 188 octets; None where it is none."""
    for stride in (188, 192, 204):
        for start in range(stride):
            if len(data) >= start + 4 * stride and all(data[start + i * stride] == 0x47 for i in range(4)):
                return [data[at:at + 188] for at in range(start, len(data) - 187, stride)]
    return None


def pid_of(packet):
    return (packet[1] & 31) << 8 | packet[2]


def payload_of(packet):
    control = packet[3] >> 4 & 3
    start = 4 + (1 + packet[4] if control & 2 else 0)
    return packet[start:] if control & 1 else b""


def pcr_of(packet):
    """The PCR in periods of 27 MHz, or None."""
    if packet[3] >> 4 & 2 and packet[4] >= 7 and packet[5] & 16:
        base = int.from_bytes(packet[6:11], "big") >> 7
        return base * 300 + ((packet[10] & 1) << 8 | packet[11])
    return None


def section(packets, pid):
    for packet in packets:
        if pid_of(packet) == pid and packet[1] & 0x40:
            payload = payload_of(packet)
            return payload[1 + payload[0]:]
    return None


def video_pid(packets, program=None):
    """The PID of the first MPEG-1 or MPEG-2 video, and the PID of its PCR."""
    pat = section(packets, 0)
    length = (pat[1] & 15) << 8 | pat[2]
    for at in range(8, 3 + length - 4, 4):
        number, pid = struct.unpack(">HH", pat[at:at + 4])
        if number == 0 or program not in (None, number):
            continue
        pmt = section(packets, pid & 0x1fff)
        end = 3 + ((pmt[1] & 15) << 8 | pmt[2]) - 4
        here = 12 + ((pmt[10] & 15) << 8 | pmt[11])
        while here < end:
            kind, stream = pmt[here], (pmt[here + 1] & 31) << 8 | pmt[here + 2]
            if kind in (1, 2):
                return stream, (pmt[8] & 31) << 8 | pmt[9]
            here += 5 + ((pmt[here + 3] & 15) << 8 | pmt[here + 4])
    raise ValueError("no MPEG video in the tables")


def pes_payload(packet):
    """The payload of a PES packet, or of a packet of an MPEG-1 system stream."""
    if packet[6] >> 6 == 2:
        return packet[9 + packet[8]:]
    at = 6
    while packet[at] == 0xff:
        at += 1
    at += 2 if packet[at] >> 6 == 1 else 0
    return packet[at + {2: 5, 3: 10}.get(packet[at] >> 4, 1):]


def elementary(data):
    """The video elementary stream of any of these streams."""
    packets = packets_of(data)
    if packets is not None:
        pid, _ = video_pid(packets)
        pes, chunks = b"", []
        for packet in (p for p in packets if pid_of(p) == pid):
            if packet[1] & 0x40:
                chunks.append(pes)
                pes = b""
            pes += payload_of(packet)
        chunks.append(pes)
        return b"".join(pes_payload(pes) for pes in chunks if pes[:3] == CODES)
    if data[:4] == b"\0\0\1\xba":
        return b"".join(pes_payload(p) for p in system_packets(data) if p[3] == video_id(data))
    return data


def system_packets(data):
    """The packets and pack headers of a program or system stream."""
    at = 0
    while (at := data.find(CODES, at)) >= 0 and at + 6 <= len(data):
        code = data[at + 3]
        if code == 0xba:
            length = 14 + (data[at + 13] & 7) if data[at + 4] >> 6 == 1 else 12
        elif code > 0xba:
            length = 6 + int.from_bytes(data[at + 4:at + 6], "big")
        else:
            length = 4
        yield data[at:at + length]
        at += length


def video_id(data):
    return next(p[3] for p in system_packets(data) if p[3] >> 4 == 14)


class Picture:
    def __init__(self, octets, seconds):
        self.octets, self.seconds = octets, seconds


def pictures(video):
    """The pictures in coding order, each with the headers ahead of it; the seconds are those of its display."""
    found, begin, headers, seconds = [], 0, False, None
    rate, progressive_sequence, at = 25.0, True, 0
    while (at := video.find(CODES, at)) >= 0 and at + 4 < len(video):
        code, body = video[at + 3], video[at + 4:at + 16]
        if code in (0x00, 0xb3, 0xb8) and not headers:
            if seconds is not None:
                found.append(Picture(at - begin, seconds))
                begin, seconds = at, None
            headers = True
        if code == 0xb3:
            rate, progressive_sequence = RATES[body[3] & 15] if body[3] & 15 < 9 else 25.0, True
        elif code == 0xb5 and body[0] >> 4 == 1:
            progressive_sequence = bool(body[1] & 8)
            rate *= ((body[5] >> 5 & 3) + 1) / ((body[5] & 31) + 1)
        elif code == 0xb5 and body[0] >> 4 == 8 and seconds is not None:
            structure, top, repeat = body[2] & 3, body[3] >> 7, body[3] & 2
            fields = 1 if structure != 3 else 2 if not repeat else 3 if not progressive_sequence else 6 if top else 4
            seconds = fields / 2 / rate
        elif code == 0x00:
            seconds = 1 / rate
        elif 0 < code < 0xb0:
            headers = False
        at += 3
    if seconds is not None:
        found.append(Picture(len(video) - begin, seconds))
    return found


def schedule_of(rates, found):
    """The rate in force at each picture; `rates` are pairs of a time and a rate in bit/s."""
    elapsed, result = 0.0, []
    for picture in found:
        result.append([rate for time, rate in rates if time <= elapsed + 1e-6][-1])
        elapsed += picture.seconds
    return result


def fullest_bucket(found, rates, depth):
    """The highest level of a leaky bucket of `depth` seconds as a share of it: above 1 some window carries too much."""
    level = highest = 0.0
    for picture, rate in zip(found, rates):
        level += 8 * picture.octets / rate
        highest = max(highest, level / depth)
        level = max(0.0, level - picture.seconds)
    return highest


def fullest_second(found, rates):
    """The most that one second carries as a share of its rate; seconds count from the last change of the rate."""
    before, elapsed, bits, most = None, 0.0, 0, 0.0
    for picture, rate in zip(found, rates):
        if rate != before:
            before, elapsed, bits = rate, 0.0, 0
        bits += 8 * picture.octets
        elapsed += picture.seconds
        if elapsed >= 1 - 1e-6:
            most = max(most, bits / rate)
            elapsed, bits = elapsed - int(elapsed + 1e-6), 0
    return most


def reachable(found, rate, depth):
    """The bits that a rate lets through at most: all of its bits, or fewer where the bucket is full while the input is
    large and empty while it is small."""
    level = total = 0.0
    for picture in found:
        bits = min(8 * picture.octets, depth * rate - level)
        total += bits
        level = max(0.0, level + bits - rate * picture.seconds)
    return min(total, rate * sum(picture.seconds for picture in found), sum(8 * picture.octets for picture in found))


def lacking(found, rate):
    """The bits that the input lacks at its end, at most a second, to fill the rate: who does not know the end cannot make up
    for them."""
    seconds = lack = most = 0.0
    for picture in reversed(found):
        seconds += picture.seconds
        if seconds > 1 + 1e-6:
            break
        lack += rate * picture.seconds - 8 * picture.octets
        most = max(most, lack)
    return most


def clock_error(packets, pid):
    """The largest deviation of the PCRs from a constant multiplex rate, in seconds, between discontinuities; and their
    number."""
    stamps = [(index, pcr) for index, packet in enumerate(packets)
              if pid_of(packet) == pid and (pcr := pcr_of(packet)) is not None]
    if len(stamps) < 2:
        return 0.0, len(stamps)
    (first, start), (last, end) = stamps[0], stamps[-1]
    period = (end - start) / (last - first)
    return max(abs(pcr - start - (index - first) * period) for index, pcr in stamps) / 27e6, len(stamps)


def stamp(octets):
    """A time stamp of a PES packet, in periods of 90 kHz."""
    return (octets[0] >> 1 & 7) << 30 | octets[1] << 22 | (octets[2] >> 1) << 15 | octets[3] << 7 | octets[4] >> 1


def longest_stay(packets, pid, clock):
    """The longest time in seconds from the arrival of a picture's first octet, by the PCRs, to its decoding, by its DTS:
    13818-1, 2.4.2.6 allows one second. Arrivals are known between two PCRs of one clock."""
    stamps = [(index, pcr) for index, packet in enumerate(packets)
              if pid_of(packet) == clock and (pcr := pcr_of(packet)) is not None]
    starts = [(index, payload) for index, packet in enumerate(packets) if pid_of(packet) == pid and packet[1] & 0x40
              and len(payload := payload_of(packet)) > 19 and payload[:3] == b"\0\0\1" and payload[7] & 0x80]
    longest, after = 0.0, 1
    for index, payload in starts:
        while after < len(stamps) and stamps[after][0] < index:
            after += 1
        if after == len(stamps):
            break
        (first, start), (last, end) = stamps[after - 1], stamps[after]
        if not first <= index <= last or not 0 < end - start < 27e6:
            continue
        arrival = start + (index - first) * (end - start) / (last - first)
        decoded = stamp(payload[14:19] if payload[7] & 0x40 else payload[9:14])
        stay = (decoded - arrival / 300) % (1 << 33)
        # What is decoded before it has come is late, not long there.
        longest = max(longest, stay / 90e3 if stay < 1 << 32 else 0.0)
    return longest


def others(packets, pid):
    """The packets of every PID but the video and the null packets, by PID; without their PCR."""
    found = {}
    for packet in packets:
        here = pid_of(packet)
        if here not in (pid, 0x1fff):
            bare = packet[:6] + packet[12:] if pcr_of(packet) is not None else packet
            found.setdefault(here, []).append(bare)
    return found
