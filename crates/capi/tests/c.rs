//! Programs in C and Go against the header, the shared and the static library, laid out as they are installed.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The sources of this crate.
const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// A folder with the library as it is installed.
struct Installed(PathBuf);

impl Installed {
    /// In a folder of that name. It stays, with what Go has compiled. `None` where there is no C compiler; says so.
    fn new(name: &str) -> Option<Self> {
        let tools = [("cc", "--version"), ("pkg-config", "--version")];
        for (tool, argument) in tools {
            if Command::new(tool).arg(argument).output().is_err() {
                skip(&format!("no {tool}"));
                return None;
            }
        }
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(root.join("include")).unwrap();
        std::fs::create_dir_all(root.join("lib/pkgconfig")).unwrap();
        std::fs::copy(Path::new(HERE).join("include/seaway.h"), root.join("include/seaway.h")).unwrap();
        std::fs::copy(Path::new(HERE).join("seaway.pc"), root.join("lib/pkgconfig/seaway.pc")).unwrap();
        for library in ["libseaway.so", "libseaway.a"] {
            std::fs::copy(built().join(library), root.join("lib").join(library)).unwrap();
        }
        Some(Self(root))
    }

    fn pkg_config(&self, arguments: &[&str]) -> Vec<String> {
        let mut command = Command::new("pkg-config");
        let output = command.args(arguments).arg("seaway").env("PKG_CONFIG_PATH", self.packages()).output();
        let text = succeeded(&output.unwrap());
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn packages(&self) -> PathBuf {
        self.0.join("lib/pkgconfig")
    }

    /// Compiles an example and gives the program.
    fn compile(&self, example: &str, is_static: bool) -> PathBuf {
        let program = self.0.join(example).with_extension(if is_static { "static" } else { "shared" });
        let mut compiler = Command::new("cc");
        compiler.args(["-std=c11", "-D_POSIX_C_SOURCE=199309L", "-Wall", "-Wextra", "-Werror", "-O1", "-o"]);
        compiler.arg(&program).arg(Path::new(HERE).join("examples").join(example));
        if is_static {
            let flags = self.pkg_config(&["--static", "--cflags", "--libs"]);
            compiler.args(flags.iter().map(|flag| if flag == "-lseaway" { "-l:libseaway.a" } else { flag }));
        } else {
            compiler.args(self.pkg_config(&["--cflags", "--libs"]));
        }
        succeeded(&compiler.output().unwrap());
        program
    }

    fn run(&self, program: &Path, arguments: &[&str]) -> Output {
        let mut command = Command::new(program);
        command.args(arguments).env("LD_LIBRARY_PATH", self.0.join("lib")).output().unwrap()
    }
}

/// Says so past the harness, which hides what a test prints.
fn skip(why: &str) {
    let _ = writeln!(std::io::stderr(), "*** SKIPPED: {why} ***");
}

/// The folder with the libraries that cargo built for this test.
fn built() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

fn succeeded(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The number before a unit, at the end of the output.
fn number_before(output: &str, unit: &str) -> u64 {
    let (before, _) = output.rsplit_once(unit).unwrap();
    before.split_whitespace().next_back().unwrap().parse().unwrap()
}

#[test]
fn a_controller_fills_a_link_from_c() {
    let Some(installed) = Installed::new("controller") else { return };
    let shared = installed.compile("controller.c", false);
    let statically = installed.compile("controller.c", true);
    for spec in ["nada", "gcc", "scream", "seaway", "tfrc"] {
        let output = succeeded(&installed.run(&shared, &[spec]));
        // The link carries 6250 packets in a minute.
        let (rate, packets) = (number_before(&output, " kbit/s"), number_before(&output, " packets"));
        assert!((250..=1500).contains(&rate) && (4500..=6260).contains(&packets), "{spec}: {output}");
        assert_eq!(output, succeeded(&installed.run(&statically, &[spec])), "{spec}");
    }
    let refused = installed.run(&shared, &["ndaa"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("nada"), "{said}");
}

#[test]
fn frames_cross_a_session_from_c() {
    let Some(installed) = Installed::new("session") else { return };
    let program = installed.compile("session.c", false);
    let output = succeeded(&installed.run(&program, &[]));
    assert_eq!(output, "10 frames came whole\n");
}

#[test]
fn a_controller_runs_from_go() {
    let Some(installed) = Installed::new("go") else { return };
    if Command::new("go").arg("version").output().is_err() {
        skip("no go");
        return;
    }
    let program = installed.0.join("example");
    let mut go = Command::new("go");
    go.args(["build", "-o"]).arg(&program).arg(".").current_dir(Path::new(HERE).join("examples/go"));
    go.env("PKG_CONFIG_PATH", installed.packages()).env("GOFLAGS", "-mod=mod").env("CGO_ENABLED", "1");
    go.env("GOCACHE", installed.0.join("cache"));
    succeeded(&go.output().unwrap());
    let output = succeeded(&installed.run(&program, &[]));
    assert!(number_before(&output, " bit/s") >= 150_000, "{output}");
}

/// The version of the package is that of the library.
#[test]
fn pkg_config_has_the_version() {
    let text = std::fs::read_to_string(Path::new(HERE).join("seaway.pc")).unwrap();
    assert!(text.contains(concat!("\nVersion: ", env!("CARGO_PKG_VERSION"), "\n")), "{text}");
}
