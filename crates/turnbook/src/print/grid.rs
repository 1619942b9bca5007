//! How do rows become a table that fits the terminal?

use super::{
    style::{Style, Tone},
    text::{cut, width},
};

/// Between two columns.
const SPACE: &str = "  ";
/// No column is cut below this.
const COLUMNS_MIN: usize = 8;

/// On which side the cells of a column begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// What becomes of a column when the table is too wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// It stays whole.
    Keep,
    /// Its cells are cut.
    Cut,
    /// It is left out when cutting others is not enough, and the reader is told.
    Drop,
    /// Its cells are cut, and it is left out when that is not enough.
    CutOrDrop,
}

impl Fit {
    fn may_cut(self) -> bool {
        matches!(self, Self::Cut | Self::CutOrDrop)
    }

    fn may_drop(self) -> bool {
        matches!(self, Self::Drop | Self::CutOrDrop)
    }
}

/// A column: heading, side and fit.
pub(super) type Column = (&'static str, Align, Fit);

/// One cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    /// Takes a text.
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), tone: Tone::Plain }
    }

    /// Takes a text with a tone.
    pub(super) fn toned(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), tone }
    }

    /// Takes a text, or shows that there is none.
    pub(super) fn maybe(text: Option<impl Into<String>>) -> Self {
        match text {
            Some(text) => Self::new(text),
            None => Self::toned("–", Tone::Faint),
        }
    }
}

/// A table; every row has a cell for each column.
#[derive(Debug, Clone)]
pub(super) struct Grid {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Grid {
    /// Begins a table.
    pub(super) fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row.
    pub(super) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// Gives the table as lines, each with its newline.
    pub(super) fn render(&self, style: &Style) -> String {
        let shown = self.fitting(style.width);
        let heads: Vec<Cell> =
            self.columns.iter().map(|(head, ..)| Cell::toned(*head, Tone::Head)).collect();
        let mut text = String::new();
        for row in std::iter::once(&heads).chain(&self.rows) {
            text.push_str(&self.line(row, &shown, style));
            text.push('\n');
        }
        let left_out: Vec<&str> = self
            .columns
            .iter()
            .enumerate()
            .filter(|(at, _)| !shown.iter().any(|(column, _)| column == at))
            .map(|(_, (head, ..))| *head)
            .collect();
        if !left_out.is_empty() {
            let note = format!("left out for want of room: {}", left_out.join(", "));
            text.extend([style.paint.paint(Tone::Faint, &note), "\n".to_owned()]);
        }
        text
    }

    /// Gives one line of the columns that are shown, each with its width.
    fn line(&self, row: &[Cell], shown: &[(usize, usize)], style: &Style) -> String {
        let mut line = String::new();
        for (place, (at, room)) in shown.iter().enumerate() {
            let (Some(cell), Some((_, align, _))) = (row.get(*at), self.columns.get(*at)) else {
                continue;
            };
            if place > 0 {
                line.push_str(SPACE);
            }
            let text = cut(&cell.text, *room);
            let pad = " ".repeat(room.saturating_sub(width(&text)));
            let text = style.paint.paint(cell.tone, &text);
            match align {
                Align::Right => line.extend([pad, text]),
                Align::Left if place + 1 == shown.len() => line.push_str(&text),
                Align::Left => line.extend([text, pad]),
            }
        }
        line
    }

    /// Chooses the columns that are shown, by number, with their widths.
    fn fitting(&self, line: Option<usize>) -> Vec<(usize, usize)> {
        let mut shown: Vec<(usize, usize)> =
            (0..self.columns.len()).map(|at| (at, self.widest(at))).collect();
        let Some(line) = line else { return shown };
        loop {
            let cut = self.cut(&shown, line);
            let last = shown.iter().rposition(|(at, _)| self.fit(*at).may_drop());
            match last {
                Some(last) if total(&cut) > line => {
                    shown.remove(last);
                }
                Some(_) | None => return cut,
            }
        }
    }

    /// Takes what is too much from the widest columns that may be cut.
    fn cut(&self, shown: &[(usize, usize)], line: usize) -> Vec<(usize, usize)> {
        let mut cut = shown.to_vec();
        while total(&cut) > line {
            let widest = cut
                .iter_mut()
                .filter(|(at, width)| self.fit(*at).may_cut() && *width > COLUMNS_MIN)
                .max_by_key(|(_, width)| *width);
            match widest {
                Some((_, width)) => *width -= 1,
                None => break,
            }
        }
        cut
    }

    fn fit(&self, at: usize) -> Fit {
        self.columns.get(at).map_or(Fit::Keep, |(.., fit)| *fit)
    }

    fn widest(&self, at: usize) -> usize {
        let head = self.columns.get(at).map_or(0, |(head, ..)| width(head));
        let cells = self.rows.iter().filter_map(|row| row.get(at));
        cells.map(|cell| width(&cell.text)).fold(head, usize::max)
    }
}

/// Says how wide columns are together.
fn total(shown: &[(usize, usize)]) -> usize {
    let widths: usize = shown.iter().map(|(_, width)| width).sum();
    widths + SPACE.len() * shown.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::{Align, Cell, Fit, Grid};
    use crate::{
        config::Zone,
        print::style::{Paint, Style, Tone},
    };

    fn style(width: Option<usize>, paint: Paint) -> Style {
        Style { width, paint, zone: Zone::system() }
    }

    fn grid() -> Grid {
        let mut grid = Grid::new(&[
            ("NAME", Align::Left, Fit::Keep),
            ("TOKENS", Align::Right, Fit::Keep),
            ("STATUS", Align::Left, Fit::Drop),
            ("TITLE", Align::Left, Fit::CutOrDrop),
        ]);
        grid.row(vec![
            Cell::new("a"),
            Cell::new("1,234,567"),
            Cell::toned("completed", Tone::Good),
            Cell::new("a long title of many words"),
        ]);
        grid.row(vec![
            Cell::new("日本語"),
            Cell::new("?"),
            Cell::toned("lost", Tone::Bad),
            Cell::maybe(None::<String>),
        ]);
        grid
    }

    #[test]
    fn a_table_gives_way_where_it_may_and_tells_what_is_left_out() {
        let shown = [None, Some(50), Some(40), Some(30), Some(10)]
            .map(|width| grid().render(&style(width, Paint::Plain)))
            .join("\n");
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn colours_take_no_room() {
        let shown = grid().render(&style(None, Paint::Ansi));
        insta::assert_snapshot!(shown.replace('\x1b', "␛"));
    }
}
