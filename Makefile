# Two commands: `make demo` runs the main job, `make test` runs all tests. Both set up what they need.

.PHONY: demo test lint unit

demo:
	cargo run --release --locked --bin seaway -- demo --open

test: lint unit

lint:
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets --all-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --document-private-items

unit:
	cargo test --locked --workspace
