//! Which source wins, and what is said of a wrong value?

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use super::{
    Config, Environment, Flags, Millis, Permission, Presence, Setting, Source, Zone,
    environment::Variable, file::File,
};

use crate::verb::config::KEYS;

const FULL: &str = r#"
store = "ledger.sqlite"
timezone = "Europe/Vienna"
permission = "reject"

[opencode]
program = "/opt/opencode"
model = "anthropic/claude"
read_ms = 2000
servers = [
  { url = "http://127.0.0.1:4096/", username = "me", password = "planted-secret" },
  { url = "https://example.org" },
]
"#;

fn environment(pairs: &[(Variable, &str)]) -> Environment {
    Environment::from_pairs(pairs.iter().map(|(name, value)| (*name, OsString::from(value))))
}

fn join(flags: &Flags, environment: &Environment, text: &str) -> Config {
    let value = PathBuf::from("/etc/turnbook/config.toml");
    let path = Setting { value, source: Source::Flag };
    let file = File::parse(&path.value, text).unwrap();
    Config::join(flags, environment, file, (path, Presence::Read)).unwrap()
}

fn problem(text: &str) -> String {
    File::parse(Path::new("config.toml"), text).unwrap_err().to_string()
}

#[test]
fn a_flag_beats_the_environment_which_beats_the_file_which_beats_the_default() {
    let zone = |name: &str| name.parse::<Zone>().unwrap();
    let flags = Flags { timezone: Some(zone("Asia/Tokyo")), ..Flags::default() };
    let variables = environment(&[
        (Variable::Timezone, "UTC"),
        (Variable::Permission, "allow"),
        (Variable::ReadMs, "1"),
    ]);
    let config = join(&flags, &variables, FULL);
    assert_eq!(config.timezone, Setting { value: zone("Asia/Tokyo"), source: Source::Flag });
    let source = Source::Environment("TURNBOOK_PERMISSION");
    assert_eq!(config.permission, Setting { value: Permission::Allow, source });
    let source = Source::Environment("TURNBOOK_OPENCODE_READ_MS");
    assert_eq!(config.read_ms, Setting { value: "1".parse::<Millis>().unwrap(), source });
    assert_eq!(config.program, Setting { value: "/opt/opencode".into(), source: Source::File });
    let value = Millis::PATIENCE;
    assert_eq!(config.send_ms, Setting { value, source: Source::Default });
    // Beside the file, wherever the program runs.
    let value = "/etc/turnbook/ledger.sqlite".into();
    assert_eq!(config.store, Setting { value, source: Source::File });
    let config = join(&Flags::default(), &variables, FULL);
    let source = Source::Environment("TURNBOOK_TIMEZONE");
    assert_eq!(config.timezone, Setting { value: zone("UTC"), source });
}

#[test]
fn an_empty_variable_is_none() {
    let config = join(&Flags::default(), &environment(&[(Variable::Permission, "")]), FULL);
    assert_eq!(config.permission, Setting { value: Permission::Reject, source: Source::File });
}

#[test]
fn what_is_wrong_in_a_file_is_told_with_its_line() {
    let wrong = [
        "store = \"a\"\nstor = \"b\"\n",
        "[opencode]\nread_ms = \"ten\"\n",
        "[opencode]\nread_ms = 0\n",
        "\n\n  timezone = \"Nowhere/Land\"\n",
        "permission = \"perhaps\"\n",
        "[opencode]\nmodel = \"gpt\"\n",
        "[opencode]\nservers = [{ url = \"localhost:4096\" }]\n",
        "[opencode]\nservers = [{ url = \"http://a\", pasword = \"planted-secret\" }]\n",
        "[opencode]\nservers = [{ username = \"a\" }]\n",
        "store = \n",
    ];
    insta::assert_snapshot!(wrong.map(problem).join("\n"));
}

#[test]
fn no_message_shows_a_password() {
    for password in ["4711", "47.11", "[4711]", "{ a = 4711 }", "\"4711", "true4711"] {
        let text =
            format!("[opencode]\nservers = [{{ url = \"http://a\", password = {password} }}]\n");
        let said = problem(&text);
        assert!(!said.contains("4711"), "{said}");
    }
    let said = problem("[opencode]\nservers = [{ url = \"http://me:planted-secret@a\" }]\n");
    assert!(!said.contains("planted-secret"), "{said}");
    let config = join(&Flags::default(), &Environment::default(), FULL);
    assert!(!format!("{config:?}").contains("planted-secret"));
    let secret = config.servers.value[0].password.as_ref().unwrap();
    assert_eq!((secret.to_string().as_str(), secret.reveal()), ("********", "planted-secret"));
}

/// What the help shows can be written to a file.
#[test]
fn the_help_tells_keys_that_are_understood() {
    let lines = KEYS.lines().skip(1).take_while(|line| !line.starts_with("An "));
    // What follows two spaces explains the line.
    let keys = lines.map(|line| line.trim_start().split("  ").next().unwrap_or_default());
    let text = keys.collect::<Vec<_>>().join("\n").replace("ZONE", "UTC");
    let file = File::parse(Path::new("config.toml"), &text).unwrap();
    assert_eq!(file.opencode.servers.map(|servers| servers.len()), Some(1));
}

#[test]
fn a_wrong_variable_is_named() {
    let variables = environment(&[(Variable::SendMs, "soon")]);
    let path = Setting { value: "config.toml".into(), source: Source::Flag };
    let flags = Flags { store: Some("a".into()), ..Flags::default() };
    let error = Config::join(&flags, &variables, File::default(), (path, Presence::Absent));
    assert_eq!(
        error.unwrap_err().to_string(),
        "TURNBOOK_OPENCODE_SEND_MS: \"soon\" is no number of milliseconds"
    );
}

/// <https://no-color.org>: any value that is not empty asks for it.
#[test]
fn colours_can_be_unwanted() {
    let plain = |pairs: &[_]| environment(pairs).is_plain();
    let told = [
        plain(&[]),
        plain(&[(Variable::NoColor, "")]),
        plain(&[(Variable::Term, "xterm")]),
        plain(&[(Variable::NoColor, "1")]),
        plain(&[(Variable::Term, "dumb")]),
    ];
    assert_eq!(told, [false, false, false, true, true]);
}

#[test]
fn a_program_is_found_in_the_search_path() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("opencode");
    std::fs::write(&program, "").unwrap();
    let path = format!("/nowhere:{}", folder.path().display());
    let environment = environment(&[(Variable::Path, &path)]);
    let found = ["opencode", "other", program.to_str().unwrap(), "/nowhere/opencode"]
        .map(|name| environment.find_program(Path::new(name)));
    let program = Some(program);
    assert_eq!(found, [program.clone(), None, program, None]);
}
