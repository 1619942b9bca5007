//! Do the lock files stay small and bind nobody to one machine?

use crate::{tree::File, violation::Violation};

/// Packages of the workspace and below it. Raise it knowingly: each one is built, audited and
/// waited for by everybody.
const MAX_PACKAGES: usize = 300;

/// The workspace takes no more packages than were meant.
pub(super) fn the_packages_are_few(files: &[File]) -> Vec<Violation> {
    files
        .iter()
        .filter(|file| file.path == "Cargo.lock")
        .filter_map(|file| {
            let packages = file.text.lines().filter(|line| *line == "[[package]]").count();
            (packages > MAX_PACKAGES).then(|| Violation {
                place: file.path.clone(),
                what: format!("holds {packages} packages, more than {MAX_PACKAGES}"),
            })
        })
        .collect()
}

/// No npm lock file binds a reader of this repository to the registry of its writer.
pub(super) fn package_locks_name_no_host(files: &[File]) -> Vec<Violation> {
    files
        .iter()
        .filter(|file| file.name() == "package-lock.json" && file.text.contains("\"resolved\""))
        .map(|file| Violation {
            place: file.path.clone(),
            what: "has `resolved` addresses: write it with `omit-lockfile-registry-resolved`"
                .to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::found;

    #[test]
    fn a_package_too_many_is_found() {
        let full = "[[package]]\nname = \"a\"\n".repeat(MAX_PACKAGES);
        assert_eq!(found(the_packages_are_few, &[("Cargo.lock", &full)]), [""; 0]);
        assert_eq!(
            found(the_packages_are_few, &[("Cargo.lock", &format!("{full}[[package]]\n"))]),
            ["Cargo.lock: holds 301 packages, more than 300"]
        );
    }

    #[test]
    fn a_lock_file_with_addresses_is_found() {
        let files = [
            ("a/package-lock.json", r#"{ "resolved": "https://example.org/a.tgz" }"#),
            ("b/package-lock.json", r#"{ "integrity": "sha512-" }"#),
        ];
        assert_eq!(
            found(package_locks_name_no_host, &files),
            [concat!(
                "a/package-lock.json: has `resolved` addresses: ",
                "write it with `omit-lockfile-registry-resolved`"
            )]
        );
    }
}
