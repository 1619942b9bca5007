//! No secret reaches the store, its log, the locks, or what is printed.

use std::{fs, path::Path};

use testkit::model::{Key, Reply, Usage};

use crate::{
    desk::{Attached, Desk},
    server::Outcome,
};

/// What must be nowhere; each is planted in another place.
const PLANTED: [&str; 6] = [
    "sk-planted-in-the-body-0123456789abcdef",
    "sk-planted-in-a-header-0123456789abcdef",
    "planted-in-the-environment-0123456789",
    "planted-as-the-api-key-0123456789",
    "planted-as-a-bearer-0123456789",
    "planted-in-the-url-0123456789",
];

/// Every file below a folder, with its bytes.
fn files(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) -> Outcome {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            files(&path, found)?;
        } else {
            found.push((path.display().to_string(), fs::read(&path)?));
        }
    }
    Ok(())
}

fn holds(bytes: &[u8], secret: &str) -> bool {
    bytes.windows(secret.len()).any(|window| window == secret.as_bytes())
}

#[test]
fn f9_no_secret_is_stored_or_printed() -> Outcome {
    let [body, header, variable, key, bearer, url] = PLANTED;
    let desk = Desk::with(|setup| setup.api_key(key).env("PLANTED_KEY", variable))?;
    let said = format!(
        r#"no such key: api_key={body} sent with "Authorization: Bearer {bearer}" to https://user:{url}@example.com/v1"#
    );
    let (refused, tool) = (Key::new("refused"), Key::new("tool"));
    desk.model.script(&refused, [Reply::refuse(401, &said).header("x-api-key", header)]);
    let bash = r#"{"command":"env | grep PLANTED_KEY","description":"shows it"}"#;
    desk.model.script(
        &tool,
        [
            Reply::tool("bash", bash).tool_calls(Usage::of(10, 2)),
            Reply::text("seen").stop(Usage::of(20, 3)),
        ],
    );
    let mut printed = Vec::new();
    for prompt in [refused.prompt("fail"), tool.prompt("look")] {
        let ran = desk.run(&["run", "--session", "s", &prompt])?;
        printed.extend([ran.stdout, ran.stderr]);
    }
    for args in [
        vec!["show", "s", "--full"],
        vec!["show", "s", "--json"],
        vec!["log", "s"],
        vec!["log", "s", "--json"],
        vec!["doctor"],
        vec!["config", "show"],
        vec!["recover"],
        vec!["verify"],
    ] {
        let ran = desk.run(&args)?;
        printed.extend([ran.stdout, ran.stderr]);
    }
    let folder = desk.store().with_file_name("");
    let mut found = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("ledger.sqlite") || name == "runtime" {
            if path.is_dir() {
                files(&path, &mut found)?;
            } else {
                found.push((name, fs::read(&path)?));
            }
        }
    }
    assert!(found.iter().any(|(name, _)| name == "ledger.sqlite"), "the store is there");
    for secret in PLANTED {
        for (name, bytes) in &found {
            assert!(!holds(bytes, secret), "{secret} is in {name}");
        }
        for text in &printed {
            assert!(!text.contains(secret), "{secret} is printed: {text}");
        }
    }
    // The failure itself is there, without the secrets.
    assert!(printed.iter().any(|text| text.contains("no such key")), "{printed:?}");
    Ok(())
}

/// A server's password stands in the configuration, and nowhere else.
#[test]
fn a_servers_password_is_neither_stored_nor_printed() -> Outcome {
    let attached = Attached::new()?;
    let password = attached.desk.home.password().to_owned();
    let key = Key::new("one");
    attached.desk.model.script(&key, [Reply::text("done").stop(Usage::of(10, 1))]);
    let output = attached.run("s", "1", &key.prompt("work")).output()?;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let mut printed = vec![output.stdout, output.stderr];
    for args in [vec!["show", "s", "--json"], vec!["doctor", "--json"], vec!["config", "show"]] {
        let ran = attached.desk.run(&args)?;
        printed.extend([ran.stdout.into_bytes(), ran.stderr.into_bytes()]);
    }
    for end in ["", "-wal", "-shm"] {
        let path = format!("{}{end}", attached.desk.store().display());
        printed.extend(fs::read(path).ok());
    }
    assert!(!printed.iter().any(|bytes| holds(bytes, &password)));
    Ok(())
}
