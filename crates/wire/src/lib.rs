//! Packets as bytes: RTP, RTCP and the feedback formats of every controller.
