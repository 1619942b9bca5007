//! Does a file that people write hold a word that must not be there?

use crate::{tree::File, violation::Violation};

/// Folders of what was recorded from real programs or written by a test run.
const RECORDED: [&str; 3] = ["/test_data/", "/fixtures/", "/snapshots/"];

/// A word that is in no file that people write.
struct Forbidden {
    /// The word. Written here in pieces, so that this table does not find itself.
    word: &'static str,
    /// Why, and what to write.
    reason: &'static str,
}

const HOST: &str = "names a registry's host: packages are installed by their names alone";
const MACHINE: &str =
    "is a path of one machine: take it as an argument, or build it from the crate";
const LATER: &str = "leaves work behind in the text: do it now or open an issue";

/// Every forbidden word.
const FORBIDDEN: &[Forbidden] = &[
    Forbidden { word: concat!("registry.npm", "js.org"), reason: HOST },
    Forbidden { word: concat!("crates", ".io"), reason: HOST },
    Forbidden { word: concat!("/wo", "rk/"), reason: MACHINE },
    Forbidden { word: concat!("/ro", "ot/"), reason: MACHINE },
    Forbidden { word: concat!("/tmp/", "target"), reason: MACHINE },
    Forbidden { word: concat!("TO", "DO"), reason: LATER },
    Forbidden { word: concat!("FIX", "ME"), reason: LATER },
    Forbidden {
        word: concat!("#[ig", "nore"),
        reason: "turns a test off: a test that does not run shows nothing",
    },
];

/// No file that people write holds a forbidden word.
pub(super) fn no_word_is_forbidden(files: &[File]) -> Vec<Violation> {
    files.iter().filter(|file| is_written_by_hand(file)).flat_map(found_in).collect()
}

fn found_in(file: &File) -> impl Iterator<Item = Violation> {
    file.text.lines().enumerate().flat_map(move |(index, line)| {
        FORBIDDEN.iter().filter(|forbidden| line.contains(forbidden.word)).map(move |forbidden| {
            Violation {
                place: format!("{}:{}", file.path, index + 1),
                what: format!("`{}` {}", forbidden.word, forbidden.reason),
            }
        })
    })
}

fn is_written_by_hand(file: &File) -> bool {
    let recorded = RECORDED.iter().any(|folder| file.path.contains(folder));
    let locked = file.ending() == "lock" || file.name() == "package-lock.json";
    !recorded && !locked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::found;

    #[test]
    fn a_forbidden_word_is_found_with_its_line() {
        let text = format!("one\nsee {} for it\n", concat!("crates", ".io"));
        let files =
            [("README.md", text.as_str()), ("Cargo.lock", &text), ("a/test_data/x.json", &text)];
        assert_eq!(
            found(no_word_is_forbidden, &files),
            [format!(
                "README.md:2: `{}` names a registry's host: packages are installed by their \
                 names alone",
                concat!("crates", ".io")
            )]
        );
    }
}
