//! What the decoder's process may do: read and write the socket and the memory it has, and manage its memory. The kernel sees to it twice.
//!
//! * Landlock closes every file, TCP port, abstract socket and other process to it, whatever system call asks for them.
//! * seccomp ends it at any system call but the few that a decoder makes.

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetError,
    RulesetStatus, Scope,
};
use nix::libc;
use nix::sys::resource::{Resource, setrlimit};

/// Address space: a decoder of 3840x2160 needs less.
const MEMORY: u64 = 2 << 30;
/// Files, TCP, abstract sockets and signals: what Linux 6.12 can close.
const LANDLOCK: ABI = ABI::V6;

/// Confines this process for good. Gives what the kernel could not do of it, in words.
pub(super) fn confine() -> Vec<String> {
    let mut lacking = Vec::new();
    let inherited = close_inherited().map_err(|error| format!("files that it inherited are open: {error}"));
    lacking.extend(inherited.err());
    let limits = limit_memory().map_err(|error| format!("its memory is not limited: {error}"));
    lacking.extend(limits.err());
    let landlock = close_files();
    if let Err(why) = &landlock {
        lacking.push(format!("Landlock does not close files to it: {why}"));
    }
    // Landlock's own system calls are not among those that the filter allows.
    if let Err(why) = filter_calls() {
        lacking.push(format!("seccomp does not limit its system calls: {why}"));
        if landlock == Ok(RulesetStatus::PartiallyEnforced) {
            lacking
                .push("Landlock of this kernel closes files to it, and not sockets and signals".to_owned());
        }
    }
    lacking
}

/// Who started `seaway` may have left files open for it. Only socket, memory and standard error stay (Linux 5.9).
fn close_inherited() -> nix::Result<()> {
    #[expect(unsafe_code, reason = "there is no safe form of the call")]
    // SAFETY: the process has opened nothing of its own: no part of it uses what is closed here.
    let outcome = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
    nix::errno::Errno::result(outcome).map(|_| ())
}

/// A crash leaves no pictures on the disk.
fn limit_memory() -> nix::Result<()> {
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    setrlimit(Resource::RLIMIT_AS, MEMORY, MEMORY)
}

/// Nothing that is not open can be opened: each kind of access is handled, and no rule allows any. Of an older kernel as much as
/// it knows.
fn close_files() -> Result<RulesetStatus, String> {
    let restrict = || -> Result<_, RulesetError> {
        Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(LANDLOCK))?
            .handle_access(AccessNet::from_all(LANDLOCK))?
            .scope(Scope::from_all(LANDLOCK))?
            .create()?
            .restrict_self()
    };
    match restrict().map_err(|error| error.to_string())?.ruleset {
        RulesetStatus::NotEnforced => Err("this kernel has none, or it is off".to_owned()),
        status => Ok(status),
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn filter_calls() -> Result<(), String> {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

    // What the standard library, the allocator and the C++ library of the decoder use while they run.
    let allowed = [
        libc::SYS_read,
        libc::SYS_readv,
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_pwrite64,
        libc::SYS_brk,
        libc::SYS_mmap,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_madvise,
        libc::SYS_mprotect,
        libc::SYS_futex,
        libc::SYS_getrandom,
        libc::SYS_clock_gettime,
        libc::SYS_sched_yield,
        libc::SYS_sigaltstack,
        libc::SYS_rt_sigreturn,
        libc::SYS_rt_sigprocmask,
        libc::SYS_restart_syscall,
        libc::SYS_exit,
        libc::SYS_exit_group,
    ];
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let architecture = std::env::consts::ARCH.try_into().map_err(|error| said(&error))?;
    let rules = allowed.into_iter().map(|call| (call, Vec::new())).collect();
    let (other, listed) = (SeccompAction::KillProcess, SeccompAction::Allow);
    let filter = SeccompFilter::new(rules, other, listed, architecture).map_err(|error| said(&error))?;
    let program: BpfProgram = filter.try_into().map_err(|error| said(&error))?;
    // It also gives up every way to gain privileges (no_new_privs).
    apply_filter(&program).map_err(|error| said(&error))
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn filter_calls() -> Result<(), String> {
    Err("there is no list of calls for this architecture".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{ErrorKind, Read, Seek, Write};
    use std::net::{TcpListener, TcpStream};

    /// Landlock confines the thread that asks, so that a test can see what is left of it.
    #[test]
    fn nothing_but_what_is_open_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("open");
        std::fs::write(&path, "still here").unwrap();
        let mut open = File::open(&path).unwrap();
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let confined = std::thread::spawn(move || {
            let status = match close_files() {
                Err(why) => {
                    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
                    return;
                }
                Ok(status) => status,
            };
            let denied = |error: std::io::Error| assert_eq!(error.kind(), ErrorKind::PermissionDenied);
            denied(File::open(&path).unwrap_err());
            denied(File::create(path.with_extension("new")).unwrap_err());
            denied(std::fs::read_dir("/").unwrap_err());
            denied(std::fs::remove_file(&path).unwrap_err());
            denied(std::process::Command::new("/bin/true").spawn().unwrap_err());
            if status == RulesetStatus::FullyEnforced {
                denied(TcpStream::connect(server.local_addr().unwrap()).unwrap_err());
            }
            let mut text = String::new();
            open.rewind().unwrap();
            open.read_to_string(&mut text).unwrap();
            assert_eq!(text, "still here");
        });
        confined.join().unwrap();
    }
}
