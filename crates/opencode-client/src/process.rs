//! Which process serves a port of this machine? Told by its listening socket.
//!
//! Source: `proc_net_tcp(5)` and `proc_pid_fd(5)`; Linux only, elsewhere nothing is known.

use std::{collections::BTreeSet, fs, path::Path};

use harness::ProcessIdentity;

/// The state of a listening socket.
const LISTEN: &str = "0A";

/// Finds the one process that listens on a TCP port of this machine.
///
/// A child holds the sockets of its parent from its fork until it runs a program of its own; it
/// listens no more than that. `None` when it cannot be told: nothing listens, unrelated processes
/// share the socket, or it belongs to another user. Looks at the file descriptors of all processes; takes milliseconds.
pub(crate) fn listener(port: u16) -> Option<ProcessIdentity> {
    let inodes: BTreeSet<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .flat_map(|table| listening_inodes(&table, port))
        .collect();
    if inodes.is_empty() {
        return None;
    }
    let targets: BTreeSet<String> =
        inodes.into_iter().map(|inode| format!("socket:[{inode}]")).collect();
    let holders: BTreeSet<u32> = fs::read_dir("/proc")
        .ok()?
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| holds(*pid, &targets))
        .collect();
    let mut listeners =
        holders.iter().filter(|pid| parent(**pid).is_none_or(|parent| !holders.contains(&parent)));
    let pid = *listeners.next()?;
    listeners.next().is_none().then(|| ProcessIdentity::of(pid)).flatten()
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
    // The name stands in parentheses and may hold anything; state and parent follow it.
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn holds(pid: u32, targets: &BTreeSet<String>) -> bool {
    let Ok(descriptors) = fs::read_dir(Path::new("/proc").join(pid.to_string()).join("fd")) else {
        return false;
    };
    descriptors
        .filter_map(Result::ok)
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .any(|target| target.to_str().is_some_and(|target| targets.contains(target)))
}

/// The inodes of the sockets that listen on a port, from one of the kernel's tables.
fn listening_inodes(table: &str, port: u16) -> Vec<String> {
    let port = format!("{port:04X}");
    table
        .lines()
        .skip(1)
        .filter_map(|line| {
            let mut fields = line.split_ascii_whitespace().skip(1);
            let (_, local_port) = fields.next()?.rsplit_once(':')?;
            let state = fields.nth(1)?;
            let inode = fields.nth(5)?;
            (local_port == port && state == LISTEN).then(|| inode.to_owned())
        })
        .collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::{net::TcpListener, process};

    use harness::ProcessIdentity;

    use super::listener;

    #[test]
    fn the_process_behind_a_port_is_found() {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        assert_eq!(listener(port), ProcessIdentity::of(process::id()));
        drop(socket);
        assert_eq!(listener(port), None);
    }

    /// As long as a child shares the socket of its parent, the parent is the one that listens.
    #[test]
    fn a_child_that_shares_the_socket_is_not_the_listener() {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        let shared = std::os::fd::OwnedFd::from(socket.try_clone().unwrap());
        // Its standard input is the socket; it reads a pipe that stays open until it is killed.
        let (reader, writer) = std::io::pipe().unwrap();
        let mut child = process::Command::new("cat")
            .arg("/dev/fd/2")
            .stdin(shared)
            .stderr(reader)
            .spawn()
            .unwrap();
        let found = listener(port);
        child.kill().unwrap();
        child.wait().unwrap();
        drop(writer);
        assert_eq!(found, ProcessIdentity::of(process::id()));
    }
}
