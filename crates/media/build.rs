//! Looks with which code OpenH264 is built: its build script takes plain C++ without a word where `nasm` is missing.

use std::env::var;
use std::process::{Command, Stdio};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Not PATH: where `nasm` is installed later, openh264-sys2 is not built again either.
    for name in ["CXXFLAGS", "NASMENV", "NASM", "OPENH264_NO_ASM"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    // Without the codec there is no code of it.
    if var("CARGO_FEATURE_CODEC").is_err() {
        return;
    }
    let code = code();
    println!("cargo::rustc-env=SEAWAY_H264_CODE={code}");
    if code == "x86 without" {
        println!(
            "cargo::warning=OpenH264 is built without assembly, and coding takes about three times the CPU time: install nasm, \
             then `cargo clean -p openh264-sys2 -p seaway-media` and build again"
        );
    }
}

fn code() -> &'static str {
    match var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("aarch64" | "arm") => "neon",
        Ok("x86" | "x86_64") if !has_assembler() => "x86 without",
        Ok("x86" | "x86_64") if has_avx2() => "x86 avx2",
        Ok("x86" | "x86_64") => "x86 sse",
        _ => "none",
    }
}

fn has_assembler() -> bool {
    let nasm = var("NASM").unwrap_or_else(|_| "nasm".into());
    let ran = Command::new(nasm).arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status();
    var("OPENH264_NO_ASM").is_err() && ran.is_ok_and(|status| status.success())
}

/// Both halves need the definition, see `.cargo/config.toml`.
fn has_avx2() -> bool {
    ["CXXFLAGS", "NASMENV"].iter().all(|name| var(name).is_ok_and(|flags| flags.contains("-DHAVE_AVX2")))
}
