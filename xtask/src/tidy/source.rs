//! Is every Rust file in its place, headed and short enough?

use crate::{tree::File, violation::Violation};

/// Lines of one file, not counting a test module at its end. A target is 400.
const MAX_LINES: usize = 800;

/// Folders whose files cargo finds by itself.
const TARGET_FOLDERS: [&str; 4] = ["bin", "benches", "examples", "fuzz_targets"];

/// Names of files that are no module of a file beside them.
const ROOTS: [&str; 4] = ["lib.rs", "main.rs", "mod.rs", "build.rs"];

/// Every Rust file opens with `//!`: which question it answers.
pub(super) fn every_file_opens_with_its_question(files: &[File]) -> Vec<Violation> {
    rust(files)
        .filter(|file| !file.text.starts_with("//! "))
        .map(|file| Violation {
            place: file.path.clone(),
            what: "opens with no `//!` line that tells which question it answers".to_owned(),
        })
        .collect()
}

/// No Rust file grows over the limit.
pub(super) fn no_file_is_too_long(files: &[File]) -> Vec<Violation> {
    rust(files)
        .filter_map(|file| {
            let lines = file.text.lines().take_while(|line| *line != "mod tests {").count();
            (lines > MAX_LINES).then(|| Violation {
                place: file.path.clone(),
                what: format!("has {lines} lines, more than {MAX_LINES}: split it by question"),
            })
        })
        .collect()
}

/// Every Rust file is compiled: a target of its own, or named by `mod` in the file above it.
pub(super) fn every_file_belongs_to_a_module(files: &[File]) -> Vec<Violation> {
    rust(files)
        .filter(|file| !is_target(file))
        .filter(|file| {
            let folder = file.folder();
            let parents = [
                format!("{folder}/lib.rs"),
                format!("{folder}/main.rs"),
                format!("{folder}/mod.rs"),
                format!("{folder}.rs"),
            ];
            let declaration = format!("mod {};", file.name().trim_end_matches(".rs"));
            let declares = |line: &str| {
                let line = line.trim();
                line == declaration || line.ends_with(&format!(" {declaration}"))
            };
            !files
                .iter()
                .filter(|parent| parents.contains(&parent.path))
                .any(|parent| parent.text.lines().any(declares))
        })
        .map(|file| Violation {
            place: file.path.clone(),
            what: "is compiled by nothing: no file above it says `mod`".to_owned(),
        })
        .collect()
}

/// Every crate of the workspace is held to the lints of the workspace.
pub(super) fn every_crate_inherits_the_lints(files: &[File]) -> Vec<Violation> {
    files
        .iter()
        .filter(|file| file.name() == "Cargo.toml")
        .filter(|file| file.path.starts_with("crates/") || file.path.starts_with("xtask/"))
        .filter(|file| !file.text.contains("[lints]\nworkspace = true\n"))
        .map(|file| Violation {
            place: file.path.clone(),
            what: "does not say `[lints] workspace = true`".to_owned(),
        })
        .collect()
}

fn rust(files: &[File]) -> impl Iterator<Item = &File> {
    files.iter().filter(|file| file.ending() == "rs")
}

/// Says whether cargo compiles this file without a `mod` that names it.
fn is_target(file: &File) -> bool {
    let (above, folder) = file.folder().rsplit_once('/').unwrap_or(("", file.folder()));
    let integration_test = folder == "tests" && !above.split('/').any(|part| part == "src");
    ROOTS.contains(&file.name()) || TARGET_FOLDERS.contains(&folder) || integration_test
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::found;

    #[test]
    fn a_file_without_its_question_is_found() {
        let files = [("a.rs", "//! What is a?\n"), ("b.rs", "use std::fmt;\n"), ("c.md", "c\n")];
        assert_eq!(
            found(every_file_opens_with_its_question, &files),
            ["b.rs: opens with no `//!` line that tells which question it answers"]
        );
    }

    #[test]
    fn a_test_module_does_not_make_a_file_long() {
        let long = "//\n".repeat(MAX_LINES + 1);
        let tested = format!("//! q\n#[cfg(test)]\nmod tests {{\n{long}}}\n");
        assert_eq!(
            found(no_file_is_too_long, &[("long.rs", &long), ("tested.rs", &tested)]),
            ["long.rs: has 801 lines, more than 800: split it by question"]
        );
    }

    #[test]
    fn a_file_that_nothing_compiles_is_found() {
        let files = [
            ("crates/a/src/lib.rs", "//! q\nmod x;\npub(crate) mod y;\n// mod z;?\n"),
            ("crates/a/src/x.rs", "//! q\nmod deep;\n"),
            ("crates/a/src/x/deep.rs", ""),
            ("crates/a/src/y.rs", ""),
            ("crates/a/src/z.rs", ""),
            ("crates/a/src/tests/lost.rs", ""),
            ("crates/a/src/bin/tool.rs", ""),
            ("crates/a/tests/whole.rs", ""),
            ("tests/it/main.rs", "mod run;\n"),
            ("tests/it/run.rs", ""),
            ("tests/it/lost.rs", ""),
        ];
        assert_eq!(
            found(every_file_belongs_to_a_module, &files),
            [
                "crates/a/src/z.rs: is compiled by nothing: no file above it says `mod`",
                "crates/a/src/tests/lost.rs: is compiled by nothing: no file above it says `mod`",
                "tests/it/lost.rs: is compiled by nothing: no file above it says `mod`",
            ]
        );
    }

    #[test]
    fn a_crate_without_the_lints_is_found() {
        let files = [
            ("Cargo.toml", "[workspace]\n"),
            ("crates/a/Cargo.toml", "[package]\n\n[lints]\nworkspace = true\n"),
            ("crates/b/Cargo.toml", "[package]\n"),
        ];
        assert_eq!(
            found(every_crate_inherits_the_lints, &files),
            ["crates/b/Cargo.toml: does not say `[lints] workspace = true`"]
        );
    }
}
