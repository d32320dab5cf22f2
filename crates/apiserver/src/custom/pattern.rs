//! The regular expressions of schemas: written for Go, matched by Rust.
//!
//! Both are RE2 at heart and differ in their letters: what is no operator stands for itself in Go (`[[]`, `{{.+}}`), `\d` and its like know
//! ASCII only, and `\Q…\E` and octal escapes are Go's alone. So an expression is read as Go reads it, which also finds what Go refuses,
//! and written anew for Rust with every letter that could mean anything escaped.

use std::collections::BTreeSet;

use regex::Regex;

/// The most often that a part may be repeated, repetitions of repetitions included; Go's number.
const MOST_REPEATS: u32 = 1000;

/// Longer expressions are taken unread and match anything: a definition may have hundreds, and the server reads them before it answers.
const LONGEST: usize = 8192;

/// The named classes. Those of Rust are the same.
const NAMED: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "word",
    "xdigit",
];

/// An expression, where Rust can match it. Go may have larger ones, and letters that are no characters.
pub(super) fn compile(go: &str) -> Option<Regex> {
    if go.len() > LONGEST {
        return None;
    }
    Regex::new(&to_rust(go).ok()?).ok()
}

/// What is wrong with an expression, in Go's words.
pub(crate) fn wrong_pattern(go: &str) -> Option<String> {
    if go.is_empty() || go.len() > LONGEST { None } else { to_rust(go).err() }
}

/// An expression in Rust's language that matches what `go` matches. What groups capture is of no interest here.
fn to_rust(go: &str) -> Result<String, String> {
    let out = String::with_capacity(go.len());
    let (whole, properties) = (Group::default(), BTreeSet::new());
    let mut reader = Reader { go, at: 0, out, whole, groups: Vec::new(), properties };
    reader.read()?;
    Ok(reader.out)
}

fn wrong<T>(code: &str, part: &str) -> Result<T, String> {
    Err(format!("{code}: `{part}`"))
}

/// A group that is open.
#[derive(Debug, Default)]
struct Group {
    /// How often its parts repeat at most what is in them, the last part excluded.
    repeats: u32,
    /// The same of the last part, which is what a repetition would repeat; none at the start of an alternative.
    last: Option<u32>,
}

impl Group {
    fn end_part(&mut self) {
        self.repeats = self.repeats.max(self.last.take().unwrap_or(1));
    }

    fn part(&mut self, repeats: u32) {
        self.end_part();
        self.last = Some(repeats);
    }
}

struct Reader<'a> {
    go: &'a str,
    /// Where the next letter is.
    at: usize,
    out: String,
    whole: Group,
    /// Those that are open, the innermost last.
    groups: Vec<Group>,
    /// Categories and scripts that are known to be some: finding that out is dear.
    properties: BTreeSet<String>,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.go.get(self.at..).unwrap_or_default()
    }

    /// What was read since.
    fn since(&self, start: usize) -> &'a str {
        self.go.get(start..self.at).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn skip(&mut self, prefix: &str) -> bool {
        let there = self.rest().starts_with(prefix);
        self.at += if there { prefix.len() } else { 0 };
        there
    }

    fn group(&mut self) -> &mut Group {
        self.groups.last_mut().unwrap_or(&mut self.whole)
    }

    /// Writes a part that is no group.
    fn part(&mut self, rust: &str) {
        self.out.push_str(rust);
        self.group().part(1);
    }

    fn letter(&mut self, code: u32) {
        self.write_letter(code);
        self.group().part(1);
    }

    fn write_letter(&mut self, code: u32) {
        match char::from_u32(code).filter(|c| c.is_alphanumeric()) {
            Some(c) => self.out.push(c),
            None => self.out.push_str(&format!("\\x{{{code:x}}}")),
        }
    }

    fn read(&mut self) -> Result<(), String> {
        // Where the repetition began that was read last, if nothing was read since.
        let mut repetition = None;
        while let Some(c) = self.peek() {
            let start = self.at;
            let before = repetition.take();
            match c {
                '(' => self.open()?,
                ')' => self.close()?,
                '[' => self.class()?,
                '\\' => self.escaped()?,
                '{' if self.counts().is_none() => {
                    self.at += 1;
                    self.letter('{'.into());
                }
                '*' | '+' | '?' | '{' => {
                    self.repeat(before)?;
                    repetition = Some(start);
                }
                '|' => {
                    self.at += 1;
                    self.out.push('|');
                    self.group().end_part();
                }
                '^' | '$' | '.' => {
                    self.at += 1;
                    self.part(self.since(start));
                }
                c => {
                    self.at += c.len_utf8();
                    self.letter(c.into());
                }
            }
        }
        if self.groups.is_empty() { Ok(()) } else { wrong("missing closing )", self.go) }
    }

    /// The numbers of a repetition that begins here, and its length: `{2}`, `{2,}`, `{2,3}`.
    fn counts(&self) -> Option<(u32, Option<u32>, usize)> {
        let inner = self.rest().strip_prefix('{')?;
        let inner = inner.get(..inner.find('}')?)?;
        let number = |text: &str| {
            let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            let plain = plain && (text == "0" || !text.starts_with('0'));
            plain.then(|| text.parse().unwrap_or(u32::MAX))
        };
        let (least, most) = match inner.split_once(',') {
            None => (number(inner)?, Some(number(inner)?)),
            Some((least, "")) => (number(least)?, None),
            Some((least, most)) => (number(least)?, Some(number(most)?)),
        };
        Some((least, most, inner.len() + 2))
    }

    fn repeat(&mut self, before: Option<usize>) -> Result<(), String> {
        let start = self.at;
        let counts = self.counts();
        self.at += counts.map_or(1, |(_, _, length)| length);
        let (least, most) = counts.map_or((None, None), |(least, most, _)| (Some(least), most));
        let too_many = |count: Option<u32>| count.is_some_and(|count| count > MOST_REPEATS);
        if too_many(least) || too_many(most) || most.is_some_and(|most| least > Some(most)) {
            return wrong("invalid repeat count", self.since(start));
        }
        self.skip("?");
        if let Some(before) = before {
            return wrong("invalid nested repetition operator", self.since(before));
        }
        let Some(inside) = self.group().last else {
            return wrong("missing argument to repetition operator", self.since(start));
        };
        let times = match most.or(least) {
            Some(0) if most.is_some() => 0,
            times => times.unwrap_or(1).max(1) * inside,
        };
        let counted = least.is_some_and(|count| count >= 2) || most.is_some_and(|count| count >= 2);
        if counted && times > MOST_REPEATS {
            return wrong("invalid repeat count", self.since(start));
        }
        self.group().last = Some(times);
        self.out.push_str(self.since(start));
        Ok(())
    }

    fn open(&mut self) -> Result<(), String> {
        if self.rest().starts_with("(?") {
            return self.open_with_words();
        }
        self.at += 1;
        self.begin_group("(?:");
        Ok(())
    }

    fn begin_group(&mut self, rust: &str) {
        self.out.push_str(rust);
        self.groups.push(Group::default());
    }

    /// A group with a name or with flags, or flags for the rest of the group.
    fn open_with_words(&mut self) -> Result<(), String> {
        let (start, rest) = (self.at, self.rest());
        let name = ["(?P<", "(?<"].into_iter().find(|prefix| rest.starts_with(prefix) && rest.len() > prefix.len());
        if let Some(prefix) = name {
            let Some(end) = rest.find('>') else { return wrong("invalid named capture", rest) };
            self.at += end + 1;
            let name = rest.get(prefix.len()..end).unwrap_or_default();
            if name.is_empty() || !name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric()) {
                return wrong("invalid named capture", self.since(start));
            }
            self.begin_group("(?:");
            return Ok(());
        }
        self.at += 2;
        let (mut on, mut off, mut negative, mut flagged) = (String::new(), String::new(), false, false);
        while let Some(c) = self.next() {
            match c {
                'i' | 'm' | 's' | 'U' => {
                    let (to, from) = if negative { (&mut off, &mut on) } else { (&mut on, &mut off) };
                    from.retain(|other| other != c);
                    if !to.contains(c) {
                        to.push(c);
                    }
                    flagged = true;
                }
                '-' if !negative => (negative, flagged) = (true, false),
                ':' | ')' if flagged || !negative => {
                    let minus = if off.is_empty() { "" } else { "-" };
                    let words = format!("{on}{minus}{off}");
                    if c == ':' {
                        self.begin_group(&format!("(?{words}:"));
                    } else if !words.is_empty() {
                        self.out.push_str(&format!("(?{words})"));
                    }
                    return Ok(());
                }
                _ => break,
            }
        }
        wrong("invalid or unsupported Perl syntax", self.since(start))
    }

    fn close(&mut self) -> Result<(), String> {
        let Some(mut group) = self.groups.pop() else { return wrong("unexpected )", self.go) };
        self.at += 1;
        self.out.push(')');
        group.end_part();
        self.group().part(group.repeats);
        Ok(())
    }

    /// What begins with a backslash, outside of classes.
    fn escaped(&mut self) -> Result<(), String> {
        let rest = self.rest();
        for (go, rust) in [("\\A", "\\A"), ("\\z", "\\z"), ("\\b", "(?-u:\\b)"), ("\\B", "(?-u:\\B)")] {
            if self.skip(go) {
                self.part(rust);
                return Ok(());
            }
        }
        if rest.starts_with("\\C") {
            return wrong("invalid escape sequence", "\\C");
        }
        if self.skip("\\Q") {
            let literal = self.rest().split("\\E").next().unwrap_or_default();
            literal.chars().for_each(|c| self.letter(c.into()));
            self.at += literal.len();
            self.skip("\\E");
            return Ok(());
        }
        if self.class_of_many("[", "]")? {
            self.group().part(1);
            return Ok(());
        }
        let code = self.escape()?;
        self.letter(code);
        Ok(())
    }

    /// A letter behind a backslash.
    fn escape(&mut self) -> Result<u32, String> {
        let start = self.at;
        self.at += 1;
        let Some(c) = self.next() else { return wrong("trailing backslash at end of expression", "") };
        let octal = |c: Option<char>| c.and_then(|c| c.to_digit(8));
        match c {
            // One digit alone would be what a group has captured, which RE2 has not.
            '1'..='7' if octal(self.peek()).is_none() => {}
            '0'..='7' => {
                let mut code = octal(Some(c)).unwrap_or_default();
                for _ in 0..2 {
                    let Some(digit) = octal(self.peek()) else { break };
                    code = code * 8 + digit;
                    self.at += 1;
                }
                return Ok(code);
            }
            'x' => {
                if let Some(code) = self.hexadecimal() {
                    return Ok(code);
                }
            }
            'a' => return Ok(0x07),
            'f' => return Ok(0x0c),
            'n' => return Ok(0x0a),
            'r' => return Ok(0x0d),
            't' => return Ok(0x09),
            'v' => return Ok(0x0b),
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => return Ok(c.into()),
            _ => {}
        }
        wrong("invalid escape sequence", self.since(start))
    }

    /// Two digits, or any number of them in braces.
    fn hexadecimal(&mut self) -> Option<u32> {
        let first = self.next()?;
        if first != '{' {
            let second = self.next();
            return Some(first.to_digit(16)? * 16 + second?.to_digit(16)?);
        }
        let (mut code, mut any) = (0, false);
        loop {
            match self.next()? {
                '}' => return any.then_some(code),
                digit => code = code * 16 + digit.to_digit(16)?,
            }
            any = true;
            if code > char::MAX.into() {
                return None;
            }
        }
    }

    /// An escape that stands for many letters, if there is one. `open` and `close` are nothing inside of a class.
    fn class_of_many(&mut self, open: &str, close: &str) -> Result<bool, String> {
        let rest = self.rest();
        let (letters, negative) = match rest.get(..2) {
            Some("\\d") => ("0-9", false),
            Some("\\D") => ("0-9", true),
            Some("\\s") => ("\\t\\n\\x0c\\r\\x20", false),
            Some("\\S") => ("\\t\\n\\x0c\\r\\x20", true),
            Some("\\w") => ("0-9A-Za-z_", false),
            Some("\\W") => ("0-9A-Za-z_", true),
            Some("\\p" | "\\P") => {
                self.property()?;
                return Ok(true);
            }
            _ => return Ok(false),
        };
        self.at += 2;
        if negative {
            self.out.push_str(&format!("[^{letters}]"));
        } else {
            self.out.push_str(&format!("{open}{letters}{close}"));
        }
        Ok(true)
    }

    /// A category or a script of Unicode: `\pL`, `\p{Greek}`, `\P{Greek}`, `\p{^Greek}`.
    fn property(&mut self) -> Result<(), String> {
        let rest = self.rest();
        let start = self.at;
        self.at += 2;
        let name = if self.peek() == Some('{') {
            let Some(end) = rest.find('}') else { return wrong("invalid character class range", rest) };
            self.at = start + end + 1;
            rest.get(3..end).unwrap_or_default()
        } else {
            self.next();
            rest.get(2..self.at - start).unwrap_or_default()
        };
        let (not, name) = match name.strip_prefix('^') {
            Some(name) => (true, name),
            None => (false, name),
        };
        let letter = if rest.starts_with("\\P") == not { 'p' } else { 'P' };
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' '));
        let known = ["gc", "sc"].into_iter().map(|of| format!("\\{letter}{{{of}={name}}}"));
        let is_known = |rust: &String| self.properties.contains(rust) || Regex::new(rust).is_ok();
        match known.filter(|_| plain).find(is_known) {
            Some(rust) => {
                self.out.push_str(&rust);
                self.properties.insert(rust);
            }
            None => return wrong("invalid character class range", self.since(start)),
        }
        Ok(())
    }

    /// Letters in brackets.
    fn class(&mut self) -> Result<(), String> {
        let start = self.at;
        self.at += 1;
        self.out.push('[');
        if self.skip("^") {
            self.out.push('^');
        }
        // A bracket that comes first does not close.
        let mut first = true;
        while first || self.peek() != Some(']') {
            first = false;
            if self.named_class()? || self.class_of_many("", "")? {
                continue;
            }
            let from = self.at;
            let low = self.class_letter(start)?;
            let mut high = low;
            if self.rest().starts_with('-') && self.rest().len() > 1 && !self.rest().starts_with("-]") {
                self.at += 1;
                high = self.class_letter(start)?;
                if high < low {
                    return wrong("invalid character class range", self.since(from));
                }
            }
            self.write_letter(low);
            if high > low {
                self.out.push('-');
                self.write_letter(high);
            }
        }
        self.at += 1;
        self.part("]");
        Ok(())
    }

    fn class_letter(&mut self, start: usize) -> Result<u32, String> {
        match self.peek() {
            None => wrong("missing closing ]", self.go.get(start..).unwrap_or_default()),
            Some('\\') => self.escape(),
            Some(c) => {
                self.at += c.len_utf8();
                Ok(c.into())
            }
        }
    }

    /// `[:alpha:]`, `[:^alpha:]`.
    fn named_class(&mut self) -> Result<bool, String> {
        let rest = self.rest();
        let Some(end) = rest.strip_prefix("[:").and_then(|inner| inner.find(":]")) else { return Ok(false) };
        let start = self.at;
        self.at += end + 4;
        let name = rest.get(2..end + 2).unwrap_or_default();
        if !NAMED.contains(&name.strip_prefix('^').unwrap_or(name)) {
            return wrong("invalid character class range", self.since(start));
        }
        self.out.push_str(self.since(start));
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_taken_unread() {
        let (long, longer) = ("(".repeat(LONGEST), "(".repeat(LONGEST + 1));
        assert!(wrong_pattern(&long).is_some() && wrong_pattern(&longer).is_none());
        assert!(compile(&"a".repeat(LONGEST + 1)).is_none() && compile(&"a".repeat(LONGEST)).is_some());
    }

    #[test]
    fn what_is_no_operator_in_go_stands_for_itself() {
        for (go, fits, fits_not) in [
            ("^[^[]+$", "a]", "a["),
            (r"^[^[\]]+$", "a", "a]"),
            ("^[[]$", "[", "]"),
            ("^[[:space:]]$", "\u{b}", "s"),
            ("^[[:x]+$", "[x:", "y"),
            ("^({{.+}}|[a-z]+)$", "{{ .Values }}", "{x}"),
            ("^{.*}$", "{a}", "a"),
            ("^a{,2}$", "a{,2}", "aa"),
            ("^a{02}$", "a{02}", "aa"),
            ("^a{2}$", "aa", "a{2}"),
            ("^[a&&b]+$", "a&b", "c"),
            ("^[+--]+$", "+,-", "."),
            ("^[a~~b]+$", "~", "c"),
            (r"^\Qa.b*\E+$", "a.b**", "axb*"),
            (r"^\Q(", "(", "Q"),
            (r"^\<\>\/\_$", "<>/_", "a"),
            (r"^\052[\101-\103]\x{41}\x42$", "*BAB", "*DAB"),
            (r"^\d$", "3", "\u{663}"),
            (r"^[\d\s]+$", "3 ", "\u{663}"),
            (r"^[^\D]+$", "3", "a"),
            (r"^\w\b.$", "a.", "\u{e4}."),
            (r"^a\Bb$", "ab", "a"),
            (r"^\p{Greek}\PL\p{^Lu}\p{Any}$", "α1ax", "αaax"),
            ("^(?P<a>x)(?<1>y)$", "xy", "x"),
            ("^(?ii-s:A)(?)b$", "ab", "aB"),
            ("^]}$", "]}", "]"),
            ("^[]a]$", "]", "b"),
            ("^(|a)*(?i)B$", "aab", "ac"),
        ] {
            let regex = compile(go).unwrap_or_else(|| panic!("{go} has no regex: {:?}", to_rust(go)));
            assert!(regex.is_match(fits), "{go} does not match {fits:?}: {regex}");
            assert!(!regex.is_match(fits_not), "{go} matches {fits_not:?}: {regex}");
        }
    }

    #[test]
    fn what_go_refuses_is_refused_in_its_words() {
        for (go, said) in [
            ("(", "missing closing ): `(`"),
            ("a)", "unexpected ): `a)`"),
            ("x[a", "missing closing ]: `[a`"),
            ("*", "missing argument to repetition operator: `*`"),
            ("(a|*?)", "missing argument to repetition operator: `*?`"),
            ("a**", "invalid nested repetition operator: `**`"),
            ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("a{99999999999}", "invalid repeat count: `{99999999999}`"),
            ("a{3,2}", "invalid repeat count: `{3,2}`"),
            ("(b|a{100}){11}", "invalid repeat count: `{11}`"),
            ("a(?=b)", "invalid or unsupported Perl syntax: `(?=`"),
            ("a(?!b)", "invalid or unsupported Perl syntax: `(?!`"),
            ("a(?<=b)c", "invalid named capture: `(?<=b)c`"),
            ("a(?<!b)c>d", "invalid named capture: `(?<!b)c>`"),
            ("(?x)a", "invalid or unsupported Perl syntax: `(?x`"),
            ("(?i-:a)", "invalid or unsupported Perl syntax: `(?i-:`"),
            ("[b-a]", "invalid character class range: `b-a`"),
            ("[[:what:]]", "invalid character class range: `[:what:]`"),
            (r"\p{Klingon}", r"invalid character class range: `\p{Klingon}`"),
            (r"\p{Alphabetic}", r"invalid character class range: `\p{Alphabetic}`"),
            (r"\p", r"invalid character class range: `\p`"),
            (r"a\", "trailing backslash at end of expression: ``"),
            (r"(a)\1", r"invalid escape sequence: `\1`"),
            (r"\Z", r"invalid escape sequence: `\Z`"),
            (r"\u00e4", r"invalid escape sequence: `\u`"),
            (r"\xg", r"invalid escape sequence: `\xg`"),
            (r"[\b]", r"invalid escape sequence: `\b`"),
        ] {
            assert_eq!(wrong_pattern(go).as_deref(), Some(said), "{go}");
        }
        assert_eq!(wrong_pattern(""), None);
        assert_eq!(wrong_pattern("(a{100}|b){10}"), None);
        assert_eq!(wrong_pattern("(a{100}){0,0}"), None);
    }
}
