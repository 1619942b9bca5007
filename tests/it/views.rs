//! The verbs that read a store, in the real program: what people see, what scripts get, and how it
//! ends.

#[cfg(unix)]
use std::os::unix::fs::PermissionsExt as _;
use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use crate::story;

/// A home of its own with a store in it.
struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn empty() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn with_story() -> Self {
        let home = Self::empty();
        story::write(&home.store());
        home
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("ledger.sqlite")
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// The program in this home, with nothing of the environment that it would read.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_turnbook"));
        let folder = self.folder.path();
        command
            .args(args)
            .env_clear()
            .env("HOME", folder)
            .env("XDG_DATA_HOME", folder.join("data"))
            .env("XDG_CONFIG_HOME", folder.join("config"))
            .env("TURNBOOK_STORE", self.store())
            .env("TURNBOOK_TIMEZONE", "Europe/Vienna")
            .stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Everything that a run says, with its exit code.
    fn told(&self, args: &[&str]) -> String {
        self.told_of(&self.run(args))
    }

    fn told_of(&self, output: &Output) -> String {
        let folder = self.folder.path().display().to_string();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap().replace(&folder, "~");
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        let code = output.status.code().unwrap();
        let separator = if err.is_empty() { "" } else { "--- standard error\n" };
        format!("exit {code}\n{out}{separator}{err}")
    }

    /// What a run that must succeed prints.
    fn printed(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()), "{args:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

#[test]
fn sessions_are_listed() {
    let home = Home::with_story();
    insta::assert_snapshot!("sessions", home.printed(&["sessions"]));
    insta::assert_snapshot!("sessions_json", home.printed(&["sessions", "--json"]));
}

#[test]
fn the_acceptance_story_is_shown() {
    let home = Home::with_story();
    insta::assert_snapshot!("show", home.printed(&["show", "fix-parser"]));
    insta::assert_snapshot!("show_full", home.printed(&["show", "fix-parser", "--full"]));
    insta::assert_snapshot!("show_json", home.printed(&["show", "fix-parser", "--json"]));
}

#[test]
fn odd_turns_and_open_requests_are_explained() {
    let home = Home::with_story();
    insta::assert_snapshot!("show_odd", home.printed(&["show", "fix-lexer"]));
    insta::assert_snapshot!("show_odd_json", home.printed(&["show", "fix-lexer", "--json"]));
}

#[test]
fn usage_is_summed_by_what_is_asked_for() {
    let home = Home::with_story();
    let printed = ["session", "input", "exec", "model", "day"]
        .map(|by| home.printed(&["usage", "--by", by]))
        .join("\n");
    insta::assert_snapshot!("usage", printed);
    let json = ["session", "input", "exec", "model", "day"]
        .map(|by| home.printed(&["usage", "--by", by, "--json"]))
        .join("\n");
    insta::assert_snapshot!("usage_json", json);
}

/// The odd call is made after midnight in Vienna, and before it in UTC.
#[test]
fn a_day_is_one_of_the_time_zone() {
    let home = Home::with_story();
    let days = |zone: &str| home.printed(&["usage", "--by", "day", "--timezone", zone]);
    insta::assert_snapshot!("usage_days", [days("UTC"), days("Asia/Tokyo")].join("\n"));
}

#[test]
fn usage_begins_where_it_is_asked_to() {
    let home = Home::with_story();
    let since = |since: &str| home.printed(&["usage", "--since", since]);
    insta::assert_snapshot!("usage_since", [since("2026-03-02"), since("2026-03-03")].join("\n"));
    insta::assert_snapshot!("usage_since_nothing", home.told(&["usage", "--since", "soon"]));
}

#[test]
fn the_log_has_a_line_for_each_event() {
    let home = Home::with_story();
    insta::assert_snapshot!("log", home.printed(&["log", "fix-parser"]));
    insta::assert_snapshot!("log_odd", home.printed(&["log", "fix-lexer"]));
    insta::assert_snapshot!("log_json", home.printed(&["log", "fix-parser", "--json"]));
    insta::assert_snapshot!("log_odd_json", home.printed(&["log", "fix-lexer", "--json"]));
    let all = home.printed(&["log", "fix-parser"]);
    let last = all.lines().last().unwrap();
    let before = last.split_whitespace().next().unwrap().parse::<u64>().unwrap() - 1;
    let rest = home.printed(&["log", "fix-parser", "--after", &before.to_string()]);
    assert_eq!(rest, format!("{last}\n"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_followed_log_ends_cleanly_with_ctrl_c() {
    let home = Home::with_story();
    let whole = home.printed(&["log", "fix-parser"]);
    let mut command = home.command(&["log", "fix-parser", "--follow"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // Once everything is printed the program waits for more, and for the signal.
    for line in whole.lines() {
        assert_eq!(lines.next().unwrap().unwrap(), line);
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert!(lines.next().is_none());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn a_closed_pipe_is_no_error() {
    let home = Home::with_story();
    let mut command = home.command(&["show", "fix-lexer"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn a_session_is_found_by_what_a_person_calls_it() {
    let home = Home::with_story();
    let whole = home.printed(&["show", "fix-parser"]);
    for name in ["fix-p", "Fix the parser"] {
        assert_eq!(home.printed(&["show", name]), whole);
    }
    let told = ["fix-", "fix-parse r", "nothing like it", ""].map(|name| home.told(&["log", name]));
    insta::assert_snapshot!("unknown_sessions", told.join("\n"));
}

#[test]
fn reading_creates_no_store() {
    let home = Home::empty();
    let verbs: [&[&str]; 6] = [
        &["sessions"],
        &["show", "x"],
        &["usage"],
        &["log", "x"],
        &["verify"],
        &["store", "prune"],
    ];
    let told = verbs.map(|args| home.told(args));
    insta::assert_snapshot!("no_store", told.join("\n"));
    assert!(!home.store().exists());
}

#[test]
fn what_is_no_store_is_left_alone() {
    let home = Home::empty();
    home.write("ledger.sqlite", "this is a letter");
    insta::assert_snapshot!("foreign_store", home.told(&["sessions"]));
    assert_eq!(fs::read_to_string(home.store()).unwrap(), "this is a letter");
}

#[test]
fn a_store_of_a_newer_program_is_left_alone() {
    let home = Home::with_story();
    let mut bytes = fs::read(home.store()).unwrap();
    // Where SQLite keeps the version that its user gave.
    bytes[60..64].copy_from_slice(&99_i32.to_be_bytes());
    fs::write(home.store(), &bytes).unwrap();
    insta::assert_snapshot!("newer_store", home.told(&["sessions"]));
    assert_eq!(fs::read(home.store()).unwrap(), bytes);
}

#[test]
fn a_changed_byte_is_found() {
    let home = Home::with_story();
    let mut bytes = fs::read(home.store()).unwrap();
    let (title, changed) = (b"Fix the parser", b"Fix the barser");
    let places: Vec<usize> = (0..bytes.len())
        .filter(|at| bytes.get(*at..*at + title.len()).is_some_and(|found| found == title))
        .collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + title.len()].copy_from_slice(changed);
    }
    fs::write(home.store(), &bytes).unwrap();
    let told = [home.told(&["verify"]), home.told(&["sessions"]), home.told(&["doctor"])];
    let codes = told.each_ref().map(|told| told.lines().next().unwrap_or_default().to_owned());
    assert_eq!(codes, ["exit 26", "exit 22", "exit 20"]);
    insta::assert_snapshot!("changed_byte", told[..2].join("\n"));
}

#[test]
fn a_lawful_store_is_verified() {
    let home = Home::with_story();
    let told = [home.told(&["verify"]), home.told(&["verify", "--json"])].join("\n");
    insta::assert_snapshot!("verify", told);
}

#[test]
fn pruning_keeps_the_ledger_whole() {
    let home = Home::with_story();
    let before = home.printed(&["show", "fix-parser", "--json"]);
    let prune = ["store", "prune", "--older-than", "0s", "--json"];
    let pruned = home.printed(&prune);
    assert!(pruned.contains("\"dropped\": 6"), "{pruned}");
    assert!(home.printed(&prune).contains("\"dropped\": 0"));
    assert_eq!(home.printed(&["show", "fix-parser", "--json"]), before);
    assert_eq!(home.told(&["verify"]), "exit 0\nthe store keeps its laws\n");
}

#[test]
fn the_configuration_is_shown_without_its_secrets() {
    let home = Home::empty();
    let file = home.write(
        "config.toml",
        r#"timezone = "UTC"
permission = "reject"

[opencode]
servers = [{ url = "http://127.0.0.1:4096", username = "me", password = "planted-secret" }]
"#,
    );
    let file = file.display().to_string();
    let verbs: [&[&str]; 4] = [
        &["config", "path"],
        &["config", "check"],
        &["config", "show"],
        &["config", "show", "--json"],
    ];
    // The folder of the test is of any length, and a table follows it.
    let told = verbs.map(|args| {
        let flags = ["--config", &file, "--store", "/srv/ledger.sqlite"];
        home.told(&[args, &flags].concat())
    });
    let told = told.join("\n");
    assert!(!told.contains("planted-secret"));
    insta::assert_snapshot!("config", told);
}

#[test]
fn a_configuration_that_is_not_understood_is_told_with_its_line() {
    let home = Home::empty();
    let file = home.write("config.toml", "store = \"a\"\nstor = \"b\"\n").display().to_string();
    let missing = home.folder.path().join("missing.toml").display().to_string();
    let told = [
        home.told(&["config", "check", "--config", &file]),
        home.told(&["sessions", "--config", &file]),
        home.told(&["config", "check", "--config", &missing]),
        home.told(&["config", "path"]),
        home.told(&["config", "check"]),
    ];
    insta::assert_snapshot!("config_wrong", told.join("\n"));
}

/// An `opencode` that only tells its version.
#[cfg(unix)]
fn fake_program(home: &Home, says: &str) -> String {
    let path = home.write("opencode", &format!("#!/bin/sh\necho {says}\n"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    path.display().to_string()
}

/// Leaves out the numbers of the line about the store, which change with the engine.
#[cfg(unix)]
fn without_sizes(told: &str) -> String {
    let lines = told.lines().map(|line| match line.split_once("SQLite") {
        Some(_) => line.replace(|letter: char| letter.is_ascii_digit(), "") + "\n",
        None => format!("{line}\n"),
    });
    lines.collect()
}

#[cfg(unix)]
#[test]
fn the_doctor_says_what_is_wrong_and_what_to_do() {
    let home = Home::with_story();
    // Nothing listens on port 1, and no password must be told.
    let file = home.write(
        "config.toml",
        "[opencode]\nservers = [{ url = \"http://127.0.0.1:1\", password = \"planted-secret\" }]\n",
    );
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let file = file.display().to_string();
    let doctor = |program: &str, args: &[&str]| {
        let mut command = home.command(args);
        command.env("TURNBOOK_OPENCODE_PROGRAM", program);
        home.told_of(&command.output().unwrap())
    };
    let told = [
        doctor(&fake_program(&home, "1.18.33"), &["doctor"]),
        doctor(&fake_program(&home, "2.0.1"), &["doctor", "--config", &file]),
        doctor("/nowhere/opencode", &["doctor", "--json"]),
    ];
    let told = told.join("\n");
    assert!(!told.contains("planted-secret"));
    insta::assert_snapshot!("doctor", without_sizes(&told));
}

#[test]
fn completions_are_there_for_every_shell() {
    let home = Home::empty();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(home.printed(&["completions", shell]).contains("prune"), "{shell}");
    }
}

#[test]
fn the_help_lists_the_verbs_and_the_exit_codes() {
    let home = Home::empty();
    insta::assert_snapshot!("help", home.printed(&["--help"]));
    insta::assert_snapshot!("help_config", home.printed(&["config", "--help"]));
    assert_eq!(home.run(&["dance"]).status.code(), Some(2));
}
