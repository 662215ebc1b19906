//! Shapes an elementary stream: `shape_file IN OUT METHOD RATIO [THREADS [CLUSTER]]`, cluster a number or `block`.

use seaway_mpeg::shape::{Cluster, Config, Method, Shaper, Target};
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Read, Write};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, output, method, ratio, rest @ ..] = arguments.as_slice() else {
        return Err("usage: shape_file IN OUT METHOD RATIO [THREADS [CLUSTER]]".into());
    };
    let method = Method::ALL.iter().find(|(name, _)| name == method).ok_or("no such method")?.1;
    let mut config = Config::new(method, Target::Ratio(ratio.parse()?));
    if let Some(threads) = rest.first() {
        config.threads = threads.parse()?;
    }
    if let Some(cluster) = rest.get(1) {
        config.cluster =
            if cluster == "block" { Cluster::Block } else { Cluster::Macroblocks(cluster.parse()?) };
    }
    let mut input = File::open(input)?;
    let mut output = BufWriter::new(File::create(output)?);
    let mut shaper = Shaper::new(config);
    shaper.announce_length(input.metadata()?.len());
    let mut buffer = vec![0; 256 << 10];
    let (mut pictures, mut floors, mut bits) = (0u64, 0u64, [0u64; 2]);
    loop {
        let length = input.read(&mut buffer)?;
        if length == 0 {
            shaper.finish();
        } else {
            shaper.push(&buffer[..length]);
        }
        while let Some(shaped) = shaper.pull() {
            output.write_all(&shaped.bytes)?;
            pictures += 1;
            floors += u64::from(shaped.report.at_floor);
            bits = [bits[0] + shaped.report.bits_in, bits[1] + shaped.report.bits_out];
        }
        if length == 0 {
            break;
        }
    }
    let share = bits[1] as f64 / bits[0].max(1) as f64;
    writeln!(std::io::stderr(), "{pictures} pictures, {floors} at their floor, {share:.5} of the bits")?;
    output.flush()?;
    Ok(())
}
