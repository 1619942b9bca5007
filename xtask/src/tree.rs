//! Which text files does the repository hold?

use std::{fs, path::Path};

use anyhow::Context as _;

use crate::process::root;

/// Folders that hold nothing of ours, wherever they lie.
const NOT_OURS: [&str; 5] = [".git", "target", "node_modules", "corpus", "artifacts"];

/// One text file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File {
    /// From the top folder, with `/` between folders on every platform.
    pub path: String,
    /// All of it.
    pub text: String,
}

impl File {
    /// The name without its folders.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit_once('/').map_or(&self.path, |(_, name)| name)
    }

    /// The folder without the name; empty for the top folder.
    pub(crate) fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// The part of the name after its last dot; empty where there is none.
    pub(crate) fn ending(&self) -> &str {
        self.name().rsplit_once('.').map_or("", |(_, ending)| ending)
    }
}

/// Reads every text file of the repository, sorted by path. Files that are not UTF-8 are not text.
///
/// # Errors
///
/// When a folder or file cannot be read.
pub(crate) fn read() -> anyhow::Result<Vec<File>> {
    let mut files = Vec::new();
    read_folder(root(), "", &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn read_folder(folder: &Path, prefix: &str, files: &mut Vec<File>) -> anyhow::Result<()> {
    let context = || format!("cannot read {}", folder.display());
    for entry in fs::read_dir(folder).with_context(context)? {
        let entry = entry.with_context(context)?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = format!("{prefix}{name}");
        let kind = entry.file_type().with_context(context)?;
        if kind.is_dir() && !NOT_OURS.contains(&name.as_str()) {
            read_folder(&entry.path(), &format!("{path}/"), files)?;
        } else if kind.is_file() {
            let bytes = fs::read(entry.path()).with_context(|| format!("cannot read {path}"))?;
            if let Ok(text) = String::from_utf8(bytes) {
                files.push(File { path, text });
            }
        }
    }
    Ok(())
}
