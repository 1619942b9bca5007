//! How does other people's text fit into a line, and do no harm there?

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Replaces every character that would move the cursor, colour or reorder what follows.
///
/// What agents and users wrote is printed through here: it may hold escape sequences.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|letter| if is_harmful(letter) { ' ' } else { letter }).collect()
}

/// As [`clean`], and keeps line breaks, each followed by `indent`.
pub(super) fn clean_lines(text: &str, indent: &str) -> String {
    let lines: Vec<String> = text.lines().map(clean).collect();
    lines.join(&format!("\n{indent}"))
}

fn is_harmful(letter: char) -> bool {
    // The second set turns the reading direction.
    letter.is_control() || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Gives the first line that says something, and whether more follows.
pub(super) fn first_line(text: &str) -> String {
    let mut lines = text.lines().map(clean).filter(|line| !line.trim().is_empty());
    match (lines.next(), lines.next()) {
        (None, _) => String::new(),
        (Some(line), None) => line,
        (Some(line), Some(_)) => format!("{line} …"),
    }
}

/// Says how many columns a text takes.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// Cuts a text to a number of columns; what is cut ends in `…`.
pub(super) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(1);
    let mut taken = 0;
    let mut shown: String = text
        .chars()
        .take_while(|letter| {
            taken += letter.width().unwrap_or(0);
            taken <= room
        })
        .collect();
    shown.push('…');
    shown
}

/// Cuts a text to what is left of a line after `used` columns; never below 20.
pub(super) fn fit(text: &str, line: Option<usize>, used: usize) -> String {
    match line {
        Some(line) => cut(text, line.saturating_sub(used).max(20)),
        None => text.to_owned(),
    }
}

/// Breaks a text between words into what is left of lines after `used` columns; never below 20.
pub(super) fn wrap(text: &str, line: Option<usize>, used: usize) -> Vec<String> {
    let Some(line) = line else { return vec![text.to_owned()] };
    let room = line.saturating_sub(used).max(20);
    if width(text) <= room {
        return vec![text.to_owned()];
    }
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(last) if last.is_empty() => last.push_str(word),
            Some(last) if width(last) + 1 + width(word) <= room => last.extend([" ", word]),
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{clean, cut, first_line, fit, wrap};

    #[test]
    fn a_text_is_broken_between_words() {
        let text = "the input of the call went down from 40 to 30";
        assert_eq!(wrap(text, None, 12), [text]);
        assert_eq!(wrap(text, Some(57), 12), [text]);
        let broken = ["the input of the", "call went down from", "40 to 30"];
        assert_eq!(wrap(text, Some(32), 12), broken);
        let long = "a/path/that/is/longer/than/the/room there";
        assert_eq!(wrap(long, Some(20), 10), ["a/path/that/is/longer/than/the/room", "there"]);
    }

    #[test]
    fn an_escape_sequence_reaches_no_terminal() {
        assert_eq!(clean("a\x1b[2Jb\u{202e}c\n"), "a [2Jb c ");
    }

    #[test]
    fn a_text_is_cut_by_columns_not_by_letters() {
        assert_eq!(cut("日本語日本語", 7), "日本語…");
        assert_eq!(cut("seven !", 7), "seven !");
        assert_eq!(fit("a text of many words", Some(10), 9), "a text of many words");
    }

    #[test]
    fn the_first_line_that_says_something_is_shown() {
        assert_eq!(first_line("\n\n  one\ntwo"), "  one …");
        assert_eq!(first_line("one\n\n"), "one");
        assert_eq!(first_line("\n"), "");
    }
}
