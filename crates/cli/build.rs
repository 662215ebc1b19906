//! Makes the folder of the built page exist, so that a plain `cargo build` works where npm does not.

fn main() {
    println!("cargo::rerun-if-changed=page/dist");
    if let Err(error) = std::fs::create_dir_all("page/dist") {
        println!("cargo::error=page/dist cannot be made: {error}");
    }
}
