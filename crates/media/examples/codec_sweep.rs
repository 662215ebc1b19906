//! What a setting of OpenH264 costs, and what it gives: CPU time, octets and PSNR of a clip at constant quantisers.
//!
//! `codec_sweep CLIP PICTURES QUANTISERS [KEY=VALUE]…` prints one line of JSON a quantiser; QUANTISERS such as `22,27,32`.
//! Keys: `complexity` (low, medium, high), `usage` (camera, screen), `threads`, and `adaptive`,
//! `background`, `scene` (on, off).

#![expect(clippy::print_stdout, reason = "the lines are what it is for")]
#![expect(unsafe_code, reason = "the quantiser is set through the raw interface alone")]

use openh264::encoder as codec;
use seaway_media::decoder::{Concealment, Decoded, H264Decoder, ReceivedFrame, VideoDecoder};
use seaway_media::{FrameId, Picture, input};
use seaway_quality::{Plane, psnr};
use std::error::Error;
use std::ffi::c_void;

type Failure = Box<dyn Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [clip, count, quantisers, settings @ ..] = &arguments[..] else {
        return Err("expected: CLIP PICTURES QUANTISERS [KEY=VALUE]...".into());
    };
    let mut source = input::open(clip)?;
    let rate = source.format().frame_rate;
    let count: usize = count.parse()?;
    let mut pictures = Vec::new();
    while pictures.len() < count
        && let Some(picture) = source.next_picture()?
    {
        pictures.push(picture);
    }
    for quantiser in quantisers.split(',') {
        let quantiser: u8 = quantiser.parse()?;
        let (frames, cpu) = encode(&pictures, setup(settings, rate.hz() as f32)?, quantiser)?;
        let octets: usize = frames.iter().map(Vec::len).sum();
        let decibels = quality(&pictures, &frames)?;
        let seconds = pictures.len() as f64 * rate.interval().as_secs_f64();
        println!(
            "{{\"qp\": {quantiser}, \"kbps\": {:.1}, \"psnr\": {decibels:.3}, \"cpu_ms\": {:.4}}}",
            octets as f64 * 8.0 / seconds / 1e3,
            cpu * 1e3 / pictures.len() as f64,
        );
    }
    Ok(())
}

fn setup(settings: &[String], rate: f32) -> Result<codec::EncoderConfig, Failure> {
    let mut setup = codec::EncoderConfig::new()
        .usage_type(codec::UsageType::CameraVideoRealTime)
        .rate_control_mode(codec::RateControlMode::Off)
        .max_frame_rate(codec::FrameRate::from_hz(rate))
        .scene_change_detect(false)
        .intra_frame_period(codec::IntraFramePeriod::from_num_frames(0))
        .skip_frames(false)
        .complexity(codec::Complexity::Low)
        .background_detection(false)
        .adaptive_quantization(false)
        .num_threads(1);
    for setting in settings {
        setup = match setting.split_once('=').ok_or("expected KEY=VALUE")? {
            ("complexity", "low") => setup.complexity(codec::Complexity::Low),
            ("complexity", "medium") => setup.complexity(codec::Complexity::Medium),
            ("complexity", "high") => setup.complexity(codec::Complexity::High),
            ("usage", "camera") => setup.usage_type(codec::UsageType::CameraVideoRealTime),
            ("usage", "screen") => setup.usage_type(codec::UsageType::ScreenContentRealTime),
            ("threads", threads) => setup.num_threads(threads.parse()?),
            ("adaptive", value) => setup.adaptive_quantization(value == "on"),
            ("background", value) => setup.background_detection(value == "on"),
            ("scene", value) => setup.scene_change_detect(value == "on"),
            (key, value) => return Err(format!("unknown setting {key}={value}").into()),
        };
    }
    Ok(setup)
}

/// The coded pictures, and the CPU time of all threads in seconds.
fn encode(
    pictures: &[Picture],
    setup: codec::EncoderConfig,
    quantiser: u8,
) -> Result<(Vec<Vec<u8>>, f64), Failure> {
    let mut encoder = codec::Encoder::with_api_config(openh264::OpenH264API::from_source(), setup)?;
    // The first picture has a quantiser of the codec's own, so it is coded twice.
    if let Some(first) = pictures.first() {
        encoder.encode(first)?;
        set_quantiser(&mut encoder, quantiser)?;
        encoder.force_intra_frame();
    }
    let mut frames = Vec::with_capacity(pictures.len());
    let before = cpu_time()?;
    for picture in pictures {
        let time = openh264::Timestamp::from_millis(picture.time().as_millis() as u64);
        frames.push(encoder.encode_at(picture, time)?.to_vec());
    }
    Ok((frames, cpu_time()? - before))
}

/// By all parameters read and set again, since there is no option for the quantiser alone.
fn set_quantiser(encoder: &mut codec::Encoder, quantiser: u8) -> Result<(), Failure> {
    let option = openh264_sys2::ENCODER_OPTION_SVC_ENCODE_PARAM_EXT;
    let mut parameters = openh264_sys2::SEncParamExt::default();
    // SAFETY: the option writes one SEncParamExt, which lives on this stack frame; the encoder has coded a picture.
    let read = unsafe { encoder.raw_api().get_option(option, (&raw mut parameters).cast::<c_void>()) };
    parameters.sSpatialLayers[0].iDLayerQp = quantiser.into();
    // SAFETY: the option reads one SEncParamExt, the one filled above; the library keeps no pointer.
    let set = unsafe { encoder.raw_api().set_option(option, (&raw mut parameters).cast::<c_void>()) };
    if (read, set) == (0, 0) { Ok(()) } else { Err("the quantiser was refused".into()) }
}

/// CPU time of all threads of this process in seconds (Linux).
fn cpu_time() -> Result<f64, Failure> {
    let mut total = 0.0;
    for task in std::fs::read_dir("/proc/self/task")? {
        let line = std::fs::read_to_string(task?.path().join("schedstat"))?;
        total += line.split(' ').next().ok_or("no time")?.parse::<f64>()? * 1e-9;
    }
    Ok(total)
}

/// Mean PSNR of the luminance.
fn quality(pictures: &[Picture], frames: &[Vec<u8>]) -> Result<f64, Failure> {
    let mut decoder = H264Decoder::new(Concealment::Freeze)?;
    let mut quality = psnr::Sequence::default();
    for ((picture, data), id) in pictures.iter().zip(frames).zip(0..) {
        let frame = ReceivedFrame { data, id: FrameId(id), time: picture.time(), after_loss: false };
        let Decoded::Picture(shown) = decoder.decode(&frame)? else { continue };
        quality.push(psnr::mean_squared_error(&luma(picture), &luma(&shown))?);
    }
    Ok(quality.mean().ok_or("no picture was decoded")?.get())
}

fn luma(picture: &Picture) -> Plane<'_> {
    let plane = picture.luma();
    Plane::new(plane.data, plane.stride, plane.width, plane.height)
}
