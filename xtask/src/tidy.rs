//! Does the repository keep the house rules that no compiler knows?
//!
//! A rule is a function over all text files. What a rule forbids is a row in a table beside it.

mod lock;
mod paper;
mod source;
mod words;

use crate::{
    tree::{self, File},
    usage,
    violation::{Violation, report},
};

/// One rule: finds every place in these files that breaks it.
type Rule = fn(&[File]) -> Vec<Violation>;

/// Every rule.
const RULES: &[Rule] = &[
    source::every_file_opens_with_its_question,
    source::no_file_is_too_long,
    source::every_file_belongs_to_a_module,
    source::every_crate_inherits_the_lints,
    words::no_word_is_forbidden,
    paper::the_verbs_are_documented,
    paper::every_link_leads_somewhere,
    lock::the_packages_are_few,
    lock::package_locks_name_no_host,
];

/// Checks every rule on the files as they are now.
///
/// # Errors
///
/// When a file breaks a rule, after printing every one that does.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<()> {
    match arguments {
        [] => report("tidy", &check(&tree::read()?)),
        other => Err(usage("tidy", other)),
    }
}

fn check(files: &[File]) -> Vec<Violation> {
    RULES.iter().flat_map(|rule| rule(files)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let files = tree::read().expect("the repository can be read");
        let found: Vec<String> = check(&files).iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "{}", found.join("\n"));
    }

    /// What a rule finds in these files, as `place: what`.
    pub(super) fn found(rule: Rule, files: &[(&str, &str)]) -> Vec<String> {
        let file = |(path, text): &(&str, &str)| File {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        let files: Vec<File> = files.iter().map(file).collect();
        rule(&files).iter().map(ToString::to_string).collect()
    }
}
