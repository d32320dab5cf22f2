//! Text for people: words that wrap, columns that line up, a few colours.

/// The colours, by what they say.
pub mod style {
    use anstyle::{AnsiColor, Style};

    /// Nothing special.
    pub const PLAIN: Style = Style::new();
    /// Column headers and titles.
    pub const TITLE: Style = Style::new().bold();
    /// It fits.
    pub const GOOD: Style = AnsiColor::Green.on_default();
    /// It does not fit.
    pub const BAD: Style = AnsiColor::Red.on_default();
    /// A code that can be looked up.
    pub const CODE: Style = AnsiColor::Yellow.on_default();
    /// Details that may be passed over.
    pub const FAINT: Style = Style::new().dimmed();
    /// `error:`
    pub const ERROR: Style = AnsiColor::Red.on_default().bold();
    /// `help:`
    pub const HELP: Style = AnsiColor::Cyan.on_default().bold();
    /// `note:`
    pub const NOTE: Style = AnsiColor::Cyan.on_default();
}

use std::fmt::Write;

use anstyle::Style;

/// A piece of text in one colour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    text: String,
    style: Style,
}

impl Span {
    /// Text in a colour.
    pub fn new(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }

    /// Text without a colour.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(text, style::PLAIN)
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }

    fn push_to(&self, out: &mut String) {
        let style = self.style;
        if style == style::PLAIN || self.text.is_empty() {
            out.push_str(&self.text);
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "{style}{}{style:#}", self.text);
        }
    }
}

/// Text that wraps between words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paragraph {
    /// Its text; a space stands between two spans.
    spans: Vec<Span>,
    /// How far its lines stand in.
    indent: usize,
}

impl Paragraph {
    /// A paragraph of these spans.
    pub fn new(spans: Vec<Span>) -> Self {
        Self { spans, indent: 0 }
    }

    /// The same, farther in.
    #[must_use]
    pub fn indent(self, by: usize) -> Self {
        Self { indent: self.indent + by, ..self }
    }

    /// Writes the paragraph.
    pub fn render(&self, out: &mut String, width: usize) {
        for line in wrap(&self.spans, width.saturating_sub(self.indent).max(1)) {
            push_spaces(out, self.indent);
            push_line(out, &line);
        }
    }
}

impl From<Span> for Paragraph {
    fn from(span: Span) -> Self {
        Self::new(vec![span])
    }
}

/// Breaks lines that are longer than `width` between words; the parts stand in as far as the line did. All other spaces stay.
pub fn fold(text: &str, width: usize) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| fold_line(line, width)).collect();
    lines.join("\n")
}

fn fold_line(line: &str, width: usize) -> String {
    let words = line.trim_start();
    let indent = line.len() - words.len();
    let mut out = " ".repeat(indent);
    let mut used = indent;
    for (i, word) in words.split(' ').enumerate() {
        let length = word.chars().count();
        if i > 0 && used + 1 + length > width && used > indent {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            push_spaces(&mut out, indent);
            used = indent;
        } else if i > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
    }
    out
}

/// Breaks a paragraph into lines of at most `width` characters; a longer word has a line to itself.
fn wrap(paragraph: &[Span], width: usize) -> Vec<Vec<Span>> {
    let words = paragraph.iter().flat_map(|s| s.text.split_whitespace().map(|w| Span::new(w, s.style)));
    let mut lines: Vec<Vec<Span>> = vec![Vec::new()];
    let mut used = 0;
    for word in words {
        let length = word.width();
        if used > 0 && used + 1 + length > width {
            lines.push(Vec::new());
            used = 0;
        }
        used += length + usize::from(used > 0);
        let Some(line) = lines.last_mut() else { continue };
        match line.last_mut() {
            // Neighbours of one colour are one span, so that the text stays searchable in colour, too.
            Some(last) if last.style == word.style => {
                last.text.push(' ');
                last.text.push_str(&word.text);
            }
            _ => line.push(word),
        }
    }
    lines
}

fn push_line(out: &mut String, line: &[Span]) {
    for (i, span) in line.iter().enumerate() {
        if i > 0 {
            out.push(' ');
        }
        span.push_to(out);
    }
    out.push('\n');
}

fn push_spaces(out: &mut String, count: usize) {
    out.extend(std::iter::repeat_n(' ', count));
}

/// A table whose last column wraps.
#[derive(Debug)]
pub struct Grid {
    header: Vec<String>,
    rows: Vec<Row>,
}

/// One row: the columns that line up, then what wraps behind them.
#[derive(Debug)]
pub struct Row {
    /// A cell for each column but the last.
    pub cells: Vec<Span>,
    /// The last column, each paragraph on a line of its own.
    pub tail: Vec<Paragraph>,
}

/// What stands between columns.
const GAP: usize = 2;
/// A column is no wider than this; a longer cell has a line to itself.
const WIDEST: usize = 44;
/// Where the last column would be narrower than this, it goes below the others.
const NARROWEST_TAIL: usize = 36;

impl Grid {
    /// An empty table; the last header is that of the column that wraps.
    pub fn new(header: &[&str]) -> Self {
        Self { header: header.iter().map(|h| (*h).to_owned()).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Writes the table.
    pub fn render(&self, out: &mut String, width: usize) {
        let columns = self.header.len().saturating_sub(1);
        let widths: Vec<usize> = (0..columns).map(|c| self.column_width(c)).collect();
        let start: usize = widths.iter().map(|w| w + GAP).sum();
        let below = width < start + NARROWEST_TAIL;
        let header: Vec<Span> = self.header.iter().map(|h| Span::new(h.as_str(), style::TITLE)).collect();
        let (cells, last) = header.split_at(columns);
        push_cells(out, cells, &widths);
        last.iter().for_each(|h| h.push_to(out));
        end_line(out);
        for row in &self.rows {
            push_cells(out, &row.cells, &widths);
            let indent = if below { 2 * GAP } else { start };
            let mut tail = String::new();
            row.tail.iter().for_each(|p| p.clone().indent(indent).render(&mut tail, width));
            // The cells stand where the first line is indented, unless it goes below them.
            if below {
                end_line(out);
            } else {
                tail.drain(..indent.min(tail.len()));
            }
            out.push_str(&tail);
            end_line(out);
        }
    }

    fn column_width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|r| r.cells.get(column)).map(Span::width).filter(|w| *w <= WIDEST);
        let header = self.header.get(column).map_or(0, |h| h.chars().count());
        cells.max().unwrap_or(0).max(header)
    }
}

fn push_cells(out: &mut String, cells: &[Span], widths: &[usize]) {
    let mut start = 0;
    for (cell, width) in cells.iter().zip(widths) {
        cell.push_to(out);
        start += width + GAP;
        match width.checked_sub(cell.width()) {
            Some(missing) => push_spaces(out, missing + GAP),
            None => {
                out.push('\n');
                push_spaces(out, start);
            }
        }
    }
}

/// Ends the line, without the spaces that wait for a cell that did not come.
fn end_line(out: &mut String) {
    if !out.ends_with('\n') {
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::{Grid, Row, Span, fold, wrap};

    fn lines(text: &str, width: usize) -> Vec<String> {
        let lines = wrap(&[Span::plain(text)], width);
        lines.iter().map(|l| l.iter().map(|s| s.text.as_str()).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn words_wrap_and_long_ones_stand_alone() {
        assert_eq!(lines("a bc def", 4), ["a bc", "def"]);
        assert_eq!(lines("a abcdefgh b", 4), ["a", "abcdefgh", "b"]);
        assert_eq!(lines("", 4), [""]);
    }

    #[test]
    fn only_long_lines_are_broken() {
        assert_eq!(fold("a  b\n  one two three\n\nend", 10), "a  b\n  one two\n  three\n\nend");
        assert_eq!(fold("", 10), "");
        assert_eq!(fold("abcdefghijklmno p", 10), "abcdefghijklmno\np", "a long word has a line to itself");
        assert_eq!(fold("a   b cd efghi", 10), "a   b cd\nefghi", "columns stay");
    }

    fn grid(name: &str, why: &str, width: usize) -> String {
        let mut grid = Grid::new(&["NODE", "FITS", "WHY"]);
        let tail = vec![Span::plain(why).into()];
        grid.push(Row { cells: vec![Span::plain(name), Span::plain("no")], tail });
        let mut out = String::new();
        grid.render(&mut out, width);
        anstream::adapter::strip_str(&out).to_string()
    }

    #[test]
    fn columns_line_up_and_the_last_one_wraps() {
        let why = "one two three four five six seven eight nine";
        let expected = "\
NODE    FITS  WHY
node-1  no    one two three four five six seven
              eight nine
";
        assert_eq!(grid("node-1", why, 52), expected);
    }

    #[test]
    fn a_narrow_terminal_has_the_last_column_below() {
        assert_eq!(grid("node-1", "one two three", 40), "NODE    FITS  WHY\nnode-1  no\n    one two three\n");
    }

    #[test]
    fn a_long_name_has_a_line_to_itself() {
        let name = "n".repeat(60);
        assert_eq!(grid(&name, "why", 80), format!("NODE  FITS  WHY\n{name}\n      no    why\n"));
    }
}
