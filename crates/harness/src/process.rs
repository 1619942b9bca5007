//! Is a process still the one that we knew? Only proof of death authorises anything (rule L12).

use std::fs;

use rustix::{
    io::Errno,
    process::{Pid, test_kill_process},
};

/// A process, told apart from a later one with the same pid.
///
/// Two are one process only when both fields are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessIdentity {
    /// The process id.
    pub pid: u32,
    /// When it started, in a unit of this machine and boot; compared for equality only. At most 63
    /// bits.
    pub start_time: u64,
}

/// What is known of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Liveness {
    /// It runs.
    Live,
    /// It is proven gone: nothing has its pid, or something else has.
    Dead,
    /// Nothing is known, and nothing may be concluded.
    Unknown,
}

impl ProcessIdentity {
    /// Identifies the process that has a pid now.
    ///
    /// `None` when there is none, or when this platform does not tell when it started.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        let (state, start_time) = read_stat(pid)?;
        (!state.is_gone()).then_some(Self { pid, start_time })
    }

    /// Says what is known of the process now.
    ///
    /// It is proven dead when its pid is free, when it has ended and only waits to be reaped, or
    /// when its pid belongs to a process that started at another time.
    #[must_use]
    pub fn liveness(self) -> Liveness {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else {
            return Liveness::Unknown;
        };
        if test_kill_process(pid) == Err(Errno::SRCH) {
            return Liveness::Dead;
        }
        match read_stat(self.pid) {
            Some((state, _)) if state.is_gone() => Liveness::Dead,
            Some((_, start_time)) if start_time == self.start_time => Liveness::Live,
            Some(_) => Liveness::Dead,
            None => Liveness::Unknown,
        }
    }
}

/// The state letter of a process.
#[derive(Clone, Copy)]
struct State(char);

impl State {
    /// It has ended; only its exit status is left.
    fn is_gone(self) -> bool {
        matches!(self.0, 'Z' | 'X' | 'x')
    }
}

/// Reads state and start time of a process.
///
/// Source: `proc_pid_stat(5)`: the name is in parentheses and may hold any character; the state is
/// the first field after it, the start time in clock ticks since boot the twentieth.
fn read_stat(pid: u32) -> Option<(State, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = State(fields.next()?.chars().next()?);
    let ticks = fields.nth(18)?.parse::<u64>().ok()?;
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some((state, mix(boot.trim(), ticks)))
}

/// Makes ticks of one boot differ from those of another; FNV-1a, cut to 63 bits.
fn mix(boot: &str, ticks: u64) -> u64 {
    let bytes = boot.bytes().chain(ticks.to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    hash >> 1
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{self, Command};

    use super::{Liveness, ProcessIdentity};

    #[test]
    fn this_process_is_live_and_a_namesake_is_not() {
        let this = ProcessIdentity::of(process::id()).unwrap();
        assert_eq!(this.liveness(), Liveness::Live);
        let namesake = ProcessIdentity { start_time: this.start_time ^ 1, ..this };
        assert_eq!(namesake.liveness(), Liveness::Dead);
    }

    #[test]
    fn a_process_is_dead_before_and_after_it_is_reaped() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let identity = ProcessIdentity::of(child.id()).unwrap();
        assert_eq!(identity.liveness(), Liveness::Live);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(identity.liveness(), Liveness::Dead);
    }
}
