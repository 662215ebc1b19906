//! Which code of OpenH264 runs.

/// The instruction set of the codec's inner loops on this machine, such as `AVX2`; `C++` where the build had no assembler, which
/// takes about three times the CPU time.
pub fn acceleration() -> &'static str {
    match env!("SEAWAY_H264_CODE") {
        "neon" => "NEON",
        "x86 avx2" if has_avx2() => "AVX2",
        "x86 avx2" | "x86 sse" => "SSE",
        _ => "C++",
    }
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
}

#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
const fn has_avx2() -> bool {
    false
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_code_that_runs_has_a_name() {
        assert!(["AVX2", "SSE", "NEON", "C++"].contains(&super::acceleration()));
    }
}
