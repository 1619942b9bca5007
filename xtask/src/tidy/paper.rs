//! Do the papers beside the code tell the truth?

use crate::{VERBS, tree::File, violation::Violation};

/// The file that explains every verb.
const GUIDE: &str = "CONTRIBUTING.md";

/// Every verb is explained to contributors.
pub(super) fn the_verbs_are_documented(files: &[File]) -> Vec<Violation> {
    let guide = files.iter().find(|file| file.path == GUIDE).map_or("", |file| &file.text);
    VERBS
        .iter()
        .filter(|verb| {
            let call = format!("cargo xtask {}", verb.name);
            !guide.contains(&format!("{call}`")) && !guide.contains(&format!("{call} "))
        })
        .map(|verb| Violation {
            place: GUIDE.to_owned(),
            what: format!("does not explain `cargo xtask {}`", verb.name),
        })
        .collect()
}

/// Every link from one paper to a file of the repository leads somewhere.
pub(super) fn every_link_leads_somewhere(files: &[File]) -> Vec<Violation> {
    files
        .iter()
        .filter(|file| file.ending() == "md")
        .flat_map(|file| links(file).map(move |link| (file, link)))
        .filter(|(file, link)| {
            let path = match file.folder() {
                "" => (*link).to_owned(),
                folder => format!("{folder}/{link}"),
            };
            !files.iter().any(|target| target.path == path)
        })
        .map(|(file, link)| Violation {
            place: file.path.clone(),
            what: format!("links to `{link}`, which is no file of the repository"),
        })
        .collect()
}

/// The targets of the Markdown links of a file, without addresses and without their fragments.
fn links(file: &File) -> impl Iterator<Item = &str> {
    file.text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .filter_map(|(target, _)| target.split('#').next())
        .filter(|target| !target.is_empty() && !target.contains("://"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::found;

    #[test]
    fn a_verb_that_no_paper_explains_is_found() {
        let told: Vec<String> = VERBS
            .iter()
            .filter(|verb| verb.name != "bench")
            .map(|verb| format!("`cargo xtask {}`\n", verb.name))
            .collect();
        assert_eq!(
            found(the_verbs_are_documented, &[("CONTRIBUTING.md", &told.concat())]),
            ["CONTRIBUTING.md: does not explain `cargo xtask bench`"]
        );
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        let files = [
            ("README.md", "[a](docs/a.md) [b](docs/b.md#part) [c](https://example.org) [d](#d)\n"),
            ("docs/a.md", "[b](b.md)\n"),
        ];
        assert_eq!(
            found(every_link_leads_somewhere, &files),
            [
                "README.md: links to `docs/b.md`, which is no file of the repository",
                "docs/a.md: links to `b.md`, which is no file of the repository",
            ]
        );
    }
}
