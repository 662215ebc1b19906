//! Metrics on one 720p luma plane.

use divan::{Bencher, black_box};
use seaway_quality::{Plane, psnr, ssim};

const WIDTH: usize = 1280;
const HEIGHT: usize = 720;

fn main() {
    divan::main();
}

fn pictures() -> (Vec<u8>, Vec<u8>) {
    let a: Vec<u8> = (0..WIDTH * HEIGHT).map(|at| (at * 31 % 251) as u8).collect();
    let b = a.iter().map(|sample| sample ^ 3).collect();
    (a, b)
}

fn run<T>(bencher: Bencher<'_, '_>, metric: impl Fn(&Plane<'_>, &Plane<'_>) -> T + Sync) {
    let (a, b) = pictures();
    let (a, b) = (Plane::new(&a, WIDTH, WIDTH, HEIGHT), Plane::new(&b, WIDTH, WIDTH, HEIGHT));
    bencher.counter(divan::counter::ItemsCount::new(1_usize)).bench(|| metric(black_box(&a), black_box(&b)));
}

#[divan::bench]
fn psnr_720p(bencher: Bencher<'_, '_>) {
    run(bencher, psnr::psnr);
}

#[divan::bench]
fn ssim_720p(bencher: Bencher<'_, '_>) {
    run(bencher, ssim::ssim);
}

#[divan::bench]
fn ssim_gaussian_720p(bencher: Bencher<'_, '_>) {
    run(bencher, ssim::ssim_gaussian);
}

#[divan::bench]
fn ms_ssim_720p(bencher: Bencher<'_, '_>) {
    run(bencher, ssim::ms_ssim);
}
