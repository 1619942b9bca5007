//! The readable form of a folded history.

use std::io::Write;

use receipts::{Output, Receipt, Usage};

use crate::fold::Folded;

/// How much of an answer a line shows, in characters.
const OUTPUT_CHARS_MAX: usize = 60;

/// Prints a few lines for each request, then the totals.
pub(crate) fn table(folded: &Folded) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    thread(&mut out, folded, "")?;
    Ok(out.flush()?)
}

fn thread(out: &mut impl Write, folded: &Folded, indent: &str) -> std::io::Result<()> {
    let name = folded.thread.as_ref().map_or("(no session id)", receipts::ThreadId::as_str);
    writeln!(out, "{indent}session {name}")?;
    for receipt in &folded.receipts {
        self::receipt(out, receipt, indent)?;
    }
    if !folded.inherited.is_empty() {
        let count = folded.inherited.len();
        writeln!(out, "{indent}  {count} messages came with a fork and count elsewhere")?;
    }
    for gap in &folded.gaps {
        writeln!(out, "{indent}  gap: {gap}")?;
    }
    writeln!(out, "{indent}  total: {}", usage(&folded.totals))?;
    for child in &folded.children {
        thread(out, child, &format!("{indent}    "))?;
    }
    if !folded.children.is_empty() {
        writeln!(out, "{indent}  with subagents: {}", usage(&folded.inclusive))?;
    }
    Ok(())
}

fn receipt(out: &mut impl Write, receipt: &Receipt, indent: &str) -> std::io::Result<()> {
    let completion = &receipt.completion;
    write!(out, "{indent}  {:<11} {}", completion.status.as_str(), receipt.turn)?;
    if receipt.attempts > 1 {
        write!(out, ", attempt {}", receipt.attempts)?;
    }
    if let Some(later) = &completion.absorbed_by {
        write!(out, ", answered under {later}")?;
    }
    writeln!(out)?;
    if receipt.usage.calls > 0 {
        writeln!(out, "{indent}              {}", usage(&receipt.usage))?;
    }
    if let Some(failure) = &completion.failure {
        writeln!(out, "{indent}              {}: {}", failure.name, line(&failure.message))?;
    }
    match &completion.output {
        Some(Output::Text(text)) => writeln!(out, "{indent}              “{}”", line(text))?,
        Some(Output::Partial(text)) => {
            writeln!(out, "{indent}              so far: “{}”", line(text))?;
        }
        Some(Output::Value(value)) => writeln!(out, "{indent}              {}", line(value))?,
        None => {}
    }
    for gap in &receipt.gaps {
        writeln!(out, "{indent}              gap: {gap}")?;
    }
    Ok(())
}

fn line(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .take(OUTPUT_CHARS_MAX)
        .collect();
    if text.chars().nth(OUTPUT_CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}

fn usage(usage: &Usage) -> String {
    let mut words = Vec::new();
    for (counter, sum) in usage.tokens() {
        if let Some(value) = sum.value() {
            words.push(format!("{} {value}", counter.as_str()));
        }
    }
    words.push(match usage.calls {
        1 => "1 call".to_owned(),
        calls => format!("{calls} calls"),
    });
    if usage.unknown_calls > 0 {
        words.push(format!("{} of them unknown", usage.unknown_calls));
    }
    if let Some(cost) = usage.cost() {
        words.push(format!("{cost} USD"));
    }
    words.join(", ")
}
