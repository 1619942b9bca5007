//! How does the configuration look? Passwords are masked.

use std::path::Path;

use serde::Serialize;

use super::{
    grid::{Align, Cell, Fit, Grid},
    pretty,
    style::{Style, Tone},
};
use crate::config::{Config, Presence, Server, Setting};

/// Gives a table of every setting and who gave it.
pub(crate) fn config_human(config: &Config, style: &Style) -> String {
    let mut grid = Grid::new(&[
        ("SETTING", Align::Left, Fit::Keep),
        ("VALUE", Align::Left, Fit::Keep),
        ("FROM", Align::Left, Fit::Keep),
    ]);
    for row in rows(config) {
        let tone = if row.from == "default" { Tone::Faint } else { Tone::Plain };
        let value = Cell::maybe(row.value);
        grid.row(vec![Cell::new(row.setting), value, Cell::toned(row.from, tone)]);
    }
    let file = config.file.value.display();
    match config.presence {
        Presence::Read => format!("read from {file}\n{}", grid.render(style)),
        Presence::Absent => format!("{file} is not there\n{}", grid.render(style)),
    }
}

#[derive(Serialize)]
struct ConfigView<'a> {
    file: FileView<'a>,
    settings: Vec<SettingRow>,
}

#[derive(Serialize)]
struct FileView<'a> {
    path: &'a Path,
    presence: &'static str,
    from: String,
}

#[derive(Serialize)]
struct SettingRow {
    setting: String,
    value: Option<String>,
    from: String,
}

impl SettingRow {
    fn new<T>(name: &str, setting: &Setting<T>, show: impl FnOnce(&T) -> Option<String>) -> Self {
        Self {
            setting: name.to_owned(),
            value: show(&setting.value),
            from: setting.source.to_string(),
        }
    }
}

fn rows(config: &Config) -> Vec<SettingRow> {
    let mut rows = vec![
        SettingRow::new("store", &config.store, |path| Some(path.display().to_string())),
        SettingRow::new("timezone", &config.timezone, |zone| Some(zone.name().to_owned())),
        SettingRow::new("permission", &config.permission, |word| Some(word.as_str().to_owned())),
        SettingRow::new("opencode.program", &config.program, |path| {
            Some(path.display().to_string())
        }),
        SettingRow::new("opencode.model", &config.model, |model| {
            model.as_ref().map(ToString::to_string)
        }),
        SettingRow::new("opencode.read_ms", &config.read_ms, |ms| Some(ms.get().to_string())),
        SettingRow::new("opencode.send_ms", &config.send_ms, |ms| Some(ms.get().to_string())),
    ];
    let from = config.servers.source.to_string();
    for (at, server) in config.servers.value.iter().enumerate() {
        for (key, value) in server_rows(server) {
            let setting = format!("opencode.servers[{at}].{key}");
            rows.push(SettingRow { setting, value: Some(value), from: from.clone() });
        }
    }
    rows
}

fn server_rows(server: &Server) -> Vec<(&'static str, String)> {
    let user = server.username.as_ref().map(|user| ("username", user.to_string()));
    let password = server.password.as_ref().map(|secret| ("password", secret.to_string()));
    let url = ("url", server.url.as_str().to_owned());
    [Some(url), user, password].into_iter().flatten().collect()
}

/// Gives one object.
pub(crate) fn config_json(config: &Config) -> String {
    pretty(&ConfigView {
        file: FileView {
            path: &config.file.value,
            presence: match config.presence {
                Presence::Read => "read",
                Presence::Absent => "absent",
            },
            from: config.file.source.to_string(),
        },
        settings: rows(config),
    })
}
