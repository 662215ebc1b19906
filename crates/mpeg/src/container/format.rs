//! The container formats. A new one is a module with a [`Container`], an entry in [`Format`] and
//! [`ContainerReport`], and a probe in [`sniff`].

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::config::{Config, Multiplex};
use super::elementary::{self, ElementaryStream};
use super::error::Error;
use super::foreign;
use super::matroska::{self, MatroskaReport, MatroskaStream};
use super::program::{self, ProgramReport, ProgramStream};
use super::track::VideoTrack;
use super::transport::{Framing, TransportReport, TransportStream};

/// The most bytes that [`sniff`] looks at. An input not recognised by then is refused.
pub const SNIFF_LIMIT: usize = 128 << 10;

/// A format that this crate reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// ISO/IEC 11172-2 or 13818-2 video without a container.
    Elementary,
    /// ISO/IEC 11172-1 system stream.
    System,
    /// ISO/IEC 13818-1 program stream.
    Program,
    /// ISO/IEC 13818-1 transport stream.
    Transport(Framing),
    /// Matroska (RFC 9559).
    Matroska,
}

impl Format {
    /// One of each, for a list of their names.
    pub const ALL: [Self; 5] = [
        Format::Elementary,
        Format::System,
        Format::Program,
        Format::Transport(Framing::ALL[0]),
        Format::Matroska,
    ];

    /// The name for a report.
    pub fn name(self) -> &'static str {
        match self {
            Format::Elementary => "elementary stream",
            Format::System => "MPEG-1 system stream",
            Format::Program => "program stream",
            Format::Transport(_) => "transport stream",
            Format::Matroska => "Matroska file",
        }
    }

    /// True where [`Config::program`] chooses among several programmes.
    pub fn has_programs(self) -> bool {
        matches!(self, Format::Transport(_))
    }

    /// The usual treatment of freed room in this format.
    pub fn default_multiplex(self) -> Multiplex {
        if matches!(self, Format::Transport(_)) { Multiplex::Keep } else { Multiplex::Variable }
    }

    /// True where `multiplex` applies to the format: whether it has padding, or a multiplex rate.
    pub fn supports(self, multiplex: Multiplex) -> bool {
        match self {
            Format::Elementary | Format::Matroska => false,
            Format::System | Format::Program => !matches!(multiplex, Multiplex::Constant(_)),
            Format::Transport(_) => true,
        }
    }

    /// A container that has read nothing.
    pub(super) fn open(self, config: &Config) -> Box<dyn Container> {
        match self {
            Format::Elementary => Box::new(ElementaryStream::new(config)),
            Format::System | Format::Program => Box::new(ProgramStream::new(config)),
            Format::Transport(framing) => Box::new(TransportStream::new(framing, config)),
            Format::Matroska => Box::new(MatroskaStream::new(config)),
        }
    }
}

/// One stream in its container: the demultiplexer hands the video to a [`VideoTrack`], and the multiplexer writes
/// the same packets again around the replaced pictures.
pub(super) trait Container: fmt::Debug + Send + Sync {
    /// Reads the next bytes of the stream.
    fn push(&mut self, bytes: &[u8], track: &mut VideoTrack) -> Result<(), Error>;
    fn finish(&mut self, track: &mut VideoTrack) -> Result<(), Error>;
    /// Writes everything that no longer waits for a replacement.
    fn advance(&mut self, track: &mut VideoTrack) -> Result<(), Error>;
    /// Copies everything unchanged that waits for a replacement.
    fn give_up(&mut self, track: &mut VideoTrack) -> Result<(), Error> {
        track.copy_pending();
        self.advance(track)
    }
    /// Output that is not yet taken.
    fn output(&mut self) -> &mut Vec<u8>;
    /// So many bytes of the output were taken.
    fn count_taken(&mut self, _bytes: u64) {}
    /// What is to be written over the output once the stream has ended, where that is possible.
    fn patches(&self) -> Vec<Patch> {
        Vec::new()
    }
    /// Counts of this format.
    fn report(&self) -> Option<ContainerReport>;
    /// True where video packets were scrambled.
    fn is_scrambled(&self) -> bool {
        false
    }
}

/// Bytes to be written over an output that is complete: what could not be known before. The output is valid without them,
/// and with them a player finds its way faster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Where in the output.
    pub at: u64,
    /// Bytes that replace as many.
    pub bytes: Vec<u8>,
}

/// Counts of one container format.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ContainerReport {
    /// Of a program or system stream.
    Program(ProgramReport),
    /// Of a transport stream.
    Transport(TransportReport),
    /// Of a Matroska file.
    Matroska(MatroskaReport),
}

impl ContainerReport {
    /// Counts of errors in the stream, each with a description.
    pub fn warnings(&self) -> Vec<(u64, &'static str)> {
        match self {
            ContainerReport::Program(report) => report.warnings(),
            ContainerReport::Transport(report) => report.warnings(),
            ContainerReport::Matroska(report) => {
                vec![(report.cut_bytes, "bytes of an element that is cut at the end were dropped")]
            }
        }
    }

    /// Pictures that a constant multiplex rate delivers after their decoding time.
    pub fn late_pictures(&self) -> u64 {
        match self {
            ContainerReport::Transport(TransportReport { pacing: Some(pacing), .. }) => pacing.underflows,
            _ => 0,
        }
    }
}

/// Finds the format by the first bytes of a stream; `Ok(None)` where more of them are needed. With `complete` no
/// more follow, and the answer is never `None`.
///
/// # Errors
/// [`Error::NotMpeg`] for any other input, with its name where that is known.
pub fn sniff(head: &[u8], complete: bool) -> Result<Option<Format>, Error> {
    let foreign = |what| Err(Error::NotMpeg { what });
    let complete = complete || head.len() >= SNIFF_LIMIT;
    if let Some(what) = foreign::by_signature(head) {
        return foreign(what);
    }
    if matroska::probe(head) {
        return Ok(Some(Format::Matroska));
    }
    if let Some(framing) = Framing::probe(head, complete) {
        return Ok(Some(Format::Transport(framing)));
    }
    if let Some(what) = foreign::by_start_code(head) {
        return foreign(what);
    }
    if elementary::begins(head) {
        return Ok(Some(Format::Elementary));
    }
    if let Some(format) = program::probe(head) {
        return Ok(Some(format));
    }
    match elementary::probe(head, complete) {
        true => Ok(Some(Format::Elementary)),
        false if complete => foreign(foreign::by_text(head)),
        false => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(framing: Framing, count: usize) -> Vec<u8> {
        let mut stream = Vec::new();
        for _ in 0..count {
            let start = stream.len();
            stream.resize(start + framing.stride(), 0xff);
            stream[start + framing.lead()] = 0x47;
        }
        stream
    }

    #[test]
    fn transport_streams_of_every_framing_and_offset() {
        for framing in Framing::ALL {
            for junk in [0, 1, 100, 187, 400] {
                let mut stream = vec![0x11; junk];
                stream.extend(packets(framing, 6));
                assert_eq!(sniff(&stream, false).unwrap(), Some(Format::Transport(framing)), "{junk}");
            }
            let one = packets(framing, 1);
            assert_eq!(sniff(&one, true).unwrap(), Some(Format::Transport(framing)));
            assert_eq!(sniff(&one, false).unwrap(), None);
        }
    }

    #[test]
    fn start_codes_decide() {
        let elementary = [0, 0, 0, 1, 0xb3, 0x16, 0x01, 0x20, 0x13, 0xff];
        assert_eq!(sniff(&elementary, false).unwrap(), Some(Format::Elementary));
        // A pack that lost its beginning.
        let cut = [&[7, 7][..], &elementary, &[0, 0, 1, 0xba, 0x44]].concat();
        assert_eq!(sniff(&cut[..12], false).unwrap(), None);
        assert_eq!(sniff(&cut[..12], true).unwrap(), Some(Format::Elementary));
        assert_eq!(sniff(&cut, false).unwrap(), Some(Format::Program));
        assert_eq!(sniff(&[0, 0, 1, 0xba, 0x44], false).unwrap(), Some(Format::Program));
        assert_eq!(sniff(&[0, 0, 1, 0xba, 0x21], false).unwrap(), Some(Format::System));
        assert_eq!(sniff(&[0, 0, 1], false).unwrap(), None);
    }

    /// An unknown container: blocks with a header each around the video, or around a program stream.
    #[test]
    fn an_unknown_container_is_refused() {
        let video = include_bytes!("../../tests/fixtures/elementary.m2v");
        let wrap = |stream: &[u8], block: usize| -> Vec<u8> {
            stream.chunks(block).flat_map(|block| [&b"\x42LOCK\x99\x17\x0a"[..], block].concat()).collect()
        };
        for block in [900, 2000, 6000] {
            let error = sniff(&wrap(video, block), true).unwrap_err();
            assert_eq!(error, Error::NotMpeg { what: "of an unknown format" }, "{block}");
        }
        let system = include_bytes!("../../tests/fixtures/program.vob");
        assert!(sniff(&wrap(system, 500), true).is_err());
        // A capture that begins anywhere is not one.
        for start in [1, 700, 3001] {
            assert_eq!(sniff(&video[start..], true).unwrap(), Some(Format::Elementary));
            assert_eq!(sniff(&system[start..], true).unwrap(), Some(Format::Program));
        }
    }

    #[test]
    fn foreign_formats_are_named() {
        let name = |head: &[u8]| match sniff(head, true) {
            Err(Error::NotMpeg { what }) => what,
            other => panic!("{other:?}"),
        };
        assert!(name(b"\x00\x00\x00\x20ftypisom").contains("MP4"));
        assert_eq!(sniff(b"\x1a\x45\xdf\xa3 rest", true), Ok(Some(Format::Matroska)));
        assert!(name(b"RIFF....AVI LIST").contains("AVI"));
        assert!(name(&[0, 0, 0, 1, 0x67, 0x64, 0, 0x1f]).contains("H.264"));
        assert!(name(&[0, 0, 0, 1, 0x09, 0xf0, 0, 0, 0, 1, 0x67, 0x64]).contains("H.264"));
        assert!(name(&[0, 0, 0, 1, 0x06, 0x05, 0xff, 0xff]).contains("H.264"));
        assert!(name(&[0, 0, 0, 1, 0x40, 0x01, 0x0c]).contains("H.265"));
        assert!(name(b"\xb7\xd8\x00\x20\x37\x49\xda\x11\xa6\x4e").contains("WTV"));
        assert!(name(b"nut/multimedia container\0").contains("NUT"));
        assert!(name(b"AV\x01\x00\x55").contains("PVA"));
        let mut archive = vec![b'a'; 257];
        archive.extend(b"ustar\0");
        assert!(name(&archive).contains("tar"));
        assert_eq!(name("# Größe\n".as_bytes()), "text");
        assert_eq!(name(b""), "empty");
    }
}
