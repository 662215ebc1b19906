"""Sends six seconds of AV1 by RTP, coded by SVT-AV1 and packetised by the FFmpeg in PyAV: av1_sender.py PORT PREDICTION.

PREDICTION is `pred-struct` of SVT-AV1: 1 codes each frame from earlier ones, 2 also from later ones, which are then not shown at once.
"""

import sys
import time
from fractions import Fraction

import av

port, prediction = sys.argv[1:]
source = av.open("testsrc2=size=320x180:rate=25:duration=6", format="lavfi")
# Its packetiser is marked as experimental.
sender = av.open(f"rtp://127.0.0.1:{port}", "w", format="rtp", options={"strict": "experimental"})
options = {"preset": "12", "svtav1-params": f"pred-struct={prediction}:lp=1"}
stream = sender.add_stream("libsvtav1", rate=25, options=options)
stream.width, stream.height, stream.pix_fmt = 320, 180, "yuv420p"
stream.codec_context.gop_size = 50
begin = time.monotonic()


def send(packets):
    for packet in packets:
        time.sleep(max(0, begin + float(packet.pts * packet.time_base) - time.monotonic()))
        sender.mux(packet)


for index, picture in enumerate(source.decode(video=0)):
    picture = picture.reformat(format="yuv420p")
    picture.pts, picture.time_base, picture.pict_type = index, Fraction(1, 25), 0
    send(stream.encode(picture))
send(stream.encode())
sender.close()
