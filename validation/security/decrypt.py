#!/usr/bin/env python3
"""Decrypts the SRTP and SRTCP of a capture with the keys of `--export-keys`, into a capture that Wireshark reads.

    seaway recv rtp://… --pcap tap.pcap --export-keys keys
    validation/security/decrypt.py tap.pcap keys clear.pcap

Written after RFC 3711 (key derivation, packet index), RFC 7714 (AES-GCM) and RFC 9335 (encrypted header extensions), apart from
the code that it checks. Other tools open the reports and not the media: Wireshark has no SRTP, and libsrtp before 3.0 (GStreamer's
`srtpdec`, FFmpeg) no RFC 9335. Captures of IPv4 and IPv6 without link header, as `--pcap` writes them. Handshakes stay as they are;
a packet that no key opens is left out. Prints what became of the packets, and exits with 1 where none opened. Needs the Python
package `cryptography`.
"""

import collections
import struct
import sys

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

TAG = 16
# RFC 9335 section 4: the profiles of encrypted header extensions, and in clear.
PROFILES = {b"\xc0\xde": b"\xbe\xde", b"\xc2\xde": b"\x10\x00"}
# LINKTYPE_RAW: the packet begins with its IP header.
RAW = 101


class Keys:
    """The session keys of one direction (RFC 3711 section 4.3, RFC 7714 section 11), and what was seen of its sources."""

    def __init__(self, digits):
        master = bytes.fromhex(digits)
        key, salt = master[:16], master[16:]
        derive = lambda label, length: self.derive(key, salt, label, length)
        self.rtp, self.rtp_salt = AESGCM(derive(0, 16)), derive(2, 12)
        self.rtcp, self.rtcp_salt = AESGCM(derive(3, 16)), derive(5, 12)
        self.highest = {}

    @staticmethod
    def derive(key, salt, label, length):
        # The salt of 96 bits has 16 zero bits behind it, the counter of AES-CM 16 more; the label is before the index of 48 bits.
        start = bytearray(salt + bytes(4))
        start[7] ^= label
        return Cipher(algorithms.AES(key), modes.CTR(bytes(start))).encryptor().update(bytes(length))

    def open_rtp(self, packet):
        sequence, source = struct.unpack_from("!H4xL", packet, 2)
        has_extension = packet[0] & 0x10
        if packet[0] & 0x0F:
            raise ValueError("contributing sources")
        # Behind the head of the extension everything is encrypted (RFC 9335 section 5.1).
        begin = 16 if has_extension else 12
        if has_extension and packet[12:14] not in PROFILES:
            begin += 4 * int.from_bytes(packet[14:16], "big")
        highest = self.highest.get(source, sequence)
        # The rollover counter that brings the index nearest to the highest one (RFC 3711 section 3.3.1).
        nearest = lambda index: abs(index - highest)
        index = min((turn << 16 | sequence for turn in range(max(0, (highest >> 16) - 1), (highest >> 16) + 2)), key=nearest)
        nonce = struct.pack("!2xL", source) + index.to_bytes(6, "big")
        clear = self.rtp.decrypt(xor(nonce, self.rtp_salt), packet[begin:], packet[:begin])
        self.highest[source] = max(highest, index)
        head = bytearray(packet[:begin])
        if has_extension:
            head[12:14] = PROFILES.get(bytes(head[12:14]), head[12:14])
        return bytes(head) + clear

    def open_rtcp(self, packet):
        head, source, word = packet[:8], packet[4:8], packet[-4:]
        nonce = bytes(2) + source + bytes(2) + bytes([word[0] & 0x7F]) + word[1:]
        return head + self.rtcp.decrypt(xor(nonce, self.rtcp_salt), packet[8:-4], head + word)


def xor(one, other):
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


def read_keys(path):
    """Those of every handshake and direction."""
    with open(path) as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return [Keys(digits) for _, digits in lines]


def open_packet(keys, payload):
    """(what it is, its octets; None where no key opens it)."""
    if len(payload) < 12 + TAG or payload[0] >> 6 != 2:
        return "other", payload
    is_rtcp = 192 <= payload[1] <= 223
    for one in keys:
        try:
            return ("rtcp", one.open_rtcp(payload)) if is_rtcp else ("rtp", one.open_rtp(payload))
        except (InvalidTag, ValueError):
            continue
    return "refused", None


def replace_payload(packet, header, payload):
    """The IP packet with another UDP payload; its UDP checksum is left out."""
    udp = packet[header : header + 4] + struct.pack("!HH", 8 + len(payload), 0)
    ip = bytearray(packet[:header])
    if ip[0] >> 4 == 4:
        struct.pack_into("!H", ip, 2, header + 8 + len(payload))
        struct.pack_into("!H", ip, 10, 0)
        total = sum(struct.unpack(f"!{header // 2}H", ip))
        struct.pack_into("!H", ip, 10, 0xFFFF ^ (total % 0xFFFF))
    else:
        struct.pack_into("!H", ip, 4, 8 + len(payload))
    return bytes(ip) + udp + payload


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    capture, keys, out = sys.argv[1:]
    keys, counts = read_keys(keys), collections.Counter()
    with open(capture, "rb") as source, open(out, "wb") as target:
        head = source.read(24)
        order = "<" if head[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
        if struct.unpack_from(order + "L", head, 20)[0] != RAW:
            sys.exit(f"{capture}: not a capture of IP packets without link header")
        target.write(head)
        while record := source.read(16):
            seconds, fraction, length, _ = struct.unpack(order + "LLLL", record)
            packet = source.read(length)
            header = 4 * (packet[0] & 0x0F) if packet[0] >> 4 == 4 else 40
            what, payload = open_packet(keys, packet[header + 8 :])
            counts[what] += 1
            if payload is not None:
                packet = replace_payload(packet, header, payload)
                target.write(struct.pack(order + "LLLL", seconds, fraction, len(packet), len(packet)) + packet)
    print(" ".join(f"{what}={counts[what]}" for what in ("rtp", "rtcp", "other", "refused")))
    sys.exit(0 if counts["rtp"] + counts["rtcp"] else 1)


if __name__ == "__main__":
    main()
