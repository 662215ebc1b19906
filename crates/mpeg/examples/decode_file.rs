//! Decodes an elementary stream to raw planar frames: `decode_file IN [OUT]`.

use seaway_mpeg::decode::Decoder;
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Read, Write};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut input = File::open(arguments.next().ok_or("usage: decode_file IN [OUT]")?)?;
    let mut output = arguments.next().map(File::create).transpose()?.map(BufWriter::new);
    let mut decoder = Decoder::new();
    let mut buffer = vec![0; 256 << 10];
    let mut samples = Vec::new();
    loop {
        let length = input.read(&mut buffer)?;
        if length == 0 {
            decoder.finish();
        } else {
            decoder.push(&buffer[..length]);
        }
        while let Some(decoded) = decoder.pull() {
            if let Some(output) = &mut output {
                samples.clear();
                decoded.frame.write_planar(&mut samples);
                output.write_all(&samples)?;
            }
        }
        if length == 0 {
            break;
        }
    }
    writeln!(std::io::stderr(), "{:?}", decoder.stats())?;
    Ok(())
}
