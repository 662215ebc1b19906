//! MPEG-1 and MPEG-2 video: parser, writer, decoder and rate shaper.
