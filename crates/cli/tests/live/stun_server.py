"""Answers STUN binding requests (RFC 8489): stun_server.py ADDRESS:PORT."""

import socket
import struct
import sys

COOKIE = 0x2112A442
host, port = sys.argv[1].rsplit(":", 1)
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind((host, int(port)))
print("ready", flush=True)
while True:
    request, (address, port) = server.recvfrom(2048)
    kind, _, cookie = struct.unpack("!HHI", request[:8])
    if (kind, cookie) != (1, COOKIE):
        continue
    (number,) = struct.unpack("!I", socket.inet_aton(address))
    mapped = struct.pack("!HHBBHI", 0x0020, 8, 0, 1, port ^ COOKIE >> 16, number ^ COOKIE)
    server.sendto(struct.pack("!HHI", 0x0101, len(mapped), COOKIE) + request[8:20] + mapped, (address, port))
