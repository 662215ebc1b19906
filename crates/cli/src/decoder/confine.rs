//! What the decoder's process may do: read and write the pipes it has, and manage its memory (seccomp). Everything else kills it:
//! no file, no socket, no other process can be opened.

/// Confines this process for good.
///
/// # Errors
/// Why it is not confined, in words.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn confine() -> Result<(), String> {
    use nix::libc;
    use nix::sys::resource::{Resource, setrlimit};
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

    /// Address space: a decoder of 3840x2160 needs less.
    const MEMORY: u64 = 2 << 30;
    // What the standard library, the allocator and the C++ library of the decoder use while they run.
    let allowed = [
        libc::SYS_read,
        libc::SYS_readv,
        libc::SYS_write,
        libc::SYS_writev,
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
    // A crash leaves no pictures on the disk.
    setrlimit(Resource::RLIMIT_CORE, 0, 0).map_err(|error| said(&error))?;
    setrlimit(Resource::RLIMIT_AS, MEMORY, MEMORY).map_err(|error| said(&error))?;
    let architecture = std::env::consts::ARCH.try_into().map_err(|error| said(&error))?;
    let rules = allowed.into_iter().map(|call| (call, Vec::new())).collect();
    let (other, listed) = (SeccompAction::KillProcess, SeccompAction::Allow);
    let filter = SeccompFilter::new(rules, other, listed, architecture).map_err(|error| said(&error))?;
    let program: BpfProgram = filter.try_into().map_err(|error| said(&error))?;
    // It also gives up every way to gain privileges (no_new_privs).
    apply_filter(&program).map_err(|error| said(&error))
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub(super) fn confine() -> Result<(), String> {
    Err("this system has no seccomp for it".to_owned())
}
