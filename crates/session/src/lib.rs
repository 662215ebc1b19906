//! Sans-I/O endpoints: packetiser, pacer, history, receiver, feedback.
