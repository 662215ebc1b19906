//! Shapes an elementary stream: `shape_file IN OUT METHOD RATIO [THREADS [CLUSTER]]`, cluster a number or `block`.

use seaway_mpeg::pipeline::{self, FirstPass, PictureRecord, Pipeline, Schedule, Trial};
use seaway_mpeg::shape::{Cluster, Config, Method, Target};
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};

/// Octets that are read at a time.
const PIECE: usize = 256 << 10;

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
    let input = std::fs::read(input)?;
    let mut output = BufWriter::new(File::create(output)?);
    let mut pipeline = pipeline_for(config, &input)?;
    let (mut pictures, mut floors, mut bits) = (0u64, 0u64, [0u64; 2]);
    let (mut pieces, mut ready) = (input.chunks(PIECE), Vec::new());
    loop {
        let piece = pieces.next();
        match piece {
            Some(piece) => pipeline.push(piece)?,
            None => pipeline.finish()?,
        }
        pipeline.drain_output(&mut ready);
        output.write_all(&ready)?;
        ready.clear();
        while let Some(PictureRecord { shaping, .. }) = pipeline.poll_record() {
            pictures += 1;
            floors += u64::from(shaping.at_floor);
            bits = [bits[0] + shaping.bits_in, bits[1] + shaping.bits_out];
        }
        if piece.is_none() {
            break;
        }
    }
    let share = bits[1] as f64 / bits[0].max(1) as f64;
    writeln!(std::io::stderr(), "{pictures} pictures, {floors} at their floor, {share:.5} of the bits")?;
    output.flush()?;
    Ok(())
}

/// A pipeline for a stream, with a plan where that helps.
fn pipeline_for(shaper: Config, input: &[u8]) -> Result<Pipeline, Box<dyn Error>> {
    let (schedule, gains) = (Schedule::constant(shaper.target), shaper.gains_from_plan());
    let config = pipeline::Config { shaper, container: Default::default() };
    let mut pipeline = Pipeline::new(config.clone());
    pipeline.announce_length(input.len() as u64);
    if gains {
        let mut pass = FirstPass::new(&config, schedule.clone());
        let mut pieces = input.chunks(PIECE);
        while let Some(piece) = pieces.next().filter(|_| !pass.is_needless()) {
            pass.push(piece)?;
        }
        if !pass.is_needless() {
            let mut plan = pass.finish()?;
            if plan.gains_from_trial() {
                let mut trial = Trial::new(&config, schedule, plan);
                for piece in input.chunks(PIECE) {
                    trial.push(piece)?;
                }
                plan = trial.finish()?;
            }
            pipeline.set_plan(plan);
        }
    }
    Ok(pipeline)
}
