//! What is wrong with a text that should be JSON, in the words of Go's scanner: clients and people know these sentences. Only texts
//! that were refused come here, so this need not be fast.

/// The deepest nesting that Go takes.
const DEEPEST: usize = 10_000;

/// The first thing that Go's scanner would not take; none where the text is JSON to Go.
pub fn complaint(text: &[u8]) -> Option<String> {
    let mut scanner = Scanner { text, at: 0, open: Vec::new() };
    scanner.document().err()
}

/// A text that Go takes and stricter readers do not: octets that are no UTF-8, and halves of surrogate pairs, both of which Go
/// replaces. None where there is nothing to replace.
pub fn mended(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    let mut changed = false;
    while let Some(first) = rest.first() {
        let (written, taken): (&[u8], usize) = match first {
            b'\\' => match escape(rest) {
                Some(0xD800..=0xDBFF) if matches!(rest.get(6..).and_then(escape), Some(0xDC00..=0xDFFF)) => {
                    (&rest[..12], 12)
                }
                Some(0xD800..=0xDFFF) => (br"\ufffd", 6),
                _ => (&rest[..rest.len().min(2)], 2),
            },
            0..0x80 => (&rest[..1], 1),
            _ => match character(rest) {
                Some(length) => (&rest[..length], length),
                None => ("\u{fffd}".as_bytes(), 1),
            },
        };
        changed |= written != &rest[..taken.min(rest.len())];
        out.extend_from_slice(written);
        rest = rest.get(taken..).unwrap_or_default();
    }
    changed.then_some(out)
}

/// The number of an escape such as `\u00e9` at the beginning of a text.
fn escape(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(br"\u")?.get(..4)?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// The length of the character at the beginning of a text.
fn character(text: &[u8]) -> Option<usize> {
    (2..=4).find(|length| text.get(..*length).is_some_and(|bytes| std::str::from_utf8(bytes).is_ok()))
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    /// The brackets that are open.
    open: Vec<u8>,
}

type Step = Result<(), String>;

/// What must come next.
enum Next {
    Value,
    Key,
    /// Whatever may follow a value.
    After,
}

impl Scanner<'_> {
    /// One loop and a list of brackets: calls within calls would end with the stack, not with an answer.
    fn document(&mut self) -> Step {
        let mut next = Next::Value;
        loop {
            self.space();
            next = match next {
                Next::Value => self.value()?,
                Next::Key => self.key()?,
                Next::After if self.open.is_empty() && self.at == self.text.len() => return Ok(()),
                Next::After => self.after()?,
            };
        }
    }

    fn after(&mut self) -> Result<Next, String> {
        let next = match (self.open.last(), self.text.get(self.at)) {
            (Some(b'['), Some(b',')) => Next::Value,
            (Some(b'{'), Some(b',')) => Next::Key,
            (Some(b'['), Some(b']')) | (Some(b'{'), Some(b'}')) => {
                self.open.pop();
                Next::After
            }
            (None, _) => return Err(self.wrong("after top-level value")),
            (Some(b'['), _) => return Err(self.wrong("after array element")),
            (Some(_), _) => return Err(self.wrong("after object key:value pair")),
        };
        self.at += 1;
        Ok(next)
    }

    fn space(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn wrong(&self, context: &str) -> String {
        match self.text.get(self.at) {
            Some(byte) => format!("invalid character {} {context}", quoted(*byte)),
            None => "unexpected end of JSON input".into(),
        }
    }

    fn value(&mut self) -> Result<Next, String> {
        match self.text.get(self.at) {
            Some(bracket @ (b'[' | b'{')) => {
                if self.open.len() >= DEEPEST {
                    return Err(self.wrong("exceeded max depth"));
                }
                self.at += 1;
                self.open.push(*bracket);
                self.space();
                // What is empty ends as what is not does.
                return Ok(match (bracket, self.text.get(self.at)) {
                    (b'[', Some(b']')) | (b'{', Some(b'}')) => Next::After,
                    (b'{', _) => Next::Key,
                    _ => Next::Value,
                });
            }
            Some(b'"') => self.string()?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.literal("true")?,
            Some(b'f') => self.literal("false")?,
            Some(b'n') => self.literal("null")?,
            _ => return Err(self.wrong("looking for beginning of value")),
        }
        Ok(Next::After)
    }

    fn key(&mut self) -> Result<Next, String> {
        if self.text.get(self.at) != Some(&b'"') {
            return Err(self.wrong("looking for beginning of object key string"));
        }
        self.string()?;
        self.space();
        if self.text.get(self.at) != Some(&b':') {
            return Err(self.wrong("after object key"));
        }
        self.at += 1;
        Ok(Next::Value)
    }

    fn string(&mut self) -> Step {
        self.at += 1;
        loop {
            match self.text.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    match self.text.get(self.at) {
                        Some(b'u') => {
                            for _ in 0..4 {
                                self.at += 1;
                                if !self.text.get(self.at).is_some_and(u8::is_ascii_hexdigit) {
                                    return Err(self.wrong(r"in \u hexadecimal character escape"));
                                }
                            }
                        }
                        Some(b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"') => {}
                        _ => return Err(self.wrong("in string escape code")),
                    }
                }
                Some(0..0x20) | None => return Err(self.wrong("in string literal")),
                Some(_) => {}
            }
            self.at += 1;
        }
    }

    fn digits(&mut self, context: &str) -> Step {
        if !self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            return Err(self.wrong(context));
        }
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Step {
        if self.text.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        if self.text.get(self.at) == Some(&b'0') {
            self.at += 1;
        } else {
            self.digits("in numeric literal")?;
        }
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits("after decimal point in numeric literal")?;
        }
        if matches!(self.text.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.text.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits("in exponent of numeric literal")?;
        }
        Ok(())
    }

    fn literal(&mut self, word: &str) -> Step {
        for letter in word.bytes() {
            if self.text.get(self.at) != Some(&letter) {
                return Err(self.wrong(&format!("in literal {word} (expecting {})", quoted(letter))));
            }
            self.at += 1;
        }
        Ok(())
    }
}

/// A byte as Go shows it.
fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".into(),
        b'"' => "'\"'".into(),
        b'\n' => r"'\n'".into(),
        b'\r' => r"'\r'".into(),
        b'\t' => r"'\t'".into(),
        7 => r"'\a'".into(),
        8 => r"'\b'".into(),
        0xb => r"'\v'".into(),
        0xc => r"'\f'".into(),
        b'\\' => r"'\\'".into(),
        0..0x20 | 0x7f => format!(r"'\x{byte:02x}'"),
        // Between the letters of Latin-1 stand controls and a blank and a hyphen that do not show.
        0x80..=0xa0 | 0xad => format!(r"'\u{:04x}'", u32::from(byte)),
        _ => format!("'{}'", char::from(byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written from the rules of Go's scanner; those on ends, depth, trailing text, NULs and byte order marks were also seen on the wire.
    #[test]
    fn complaints_are_gos() {
        for (text, expected) in [
            ("", "unexpected end of JSON input"),
            (r#"{"a":"#, "unexpected end of JSON input"),
            ("{bad}", "invalid character 'b' looking for beginning of object key string"),
            ("{'a':1}", r"invalid character '\'' looking for beginning of object key string"),
            (r#"{"a" 1}"#, "invalid character '1' after object key"),
            (r#"{"a":1,}"#, "invalid character '}' looking for beginning of object key string"),
            (r#"{"a":1 "b"}"#, "invalid character '\"' after object key:value pair"),
            (r#"{"a":{"b":1]}"#, "invalid character ']' after object key:value pair"),
            ("[1 2]", "invalid character '2' after array element"),
            ("[1,]", "invalid character ']' looking for beginning of value"),
            ("1 2", "invalid character '2' after top-level value"),
            ("01", "invalid character '1' after top-level value"),
            ("{} x", "invalid character 'x' after top-level value"),
            ("nul", "unexpected end of JSON input"),
            ("nulx", "invalid character 'x' in literal null (expecting 'l')"),
            ("tree", "invalid character 'e' in literal true (expecting 'u')"),
            ("-x", "invalid character 'x' in numeric literal"),
            ("1.x", "invalid character 'x' after decimal point in numeric literal"),
            ("1ex", "invalid character 'x' in exponent of numeric literal"),
            ("\"a\nb\"", r"invalid character '\n' in string literal"),
            ("\"a\0b\"", r"invalid character '\x00' in string literal"),
            (r#""\x""#, "invalid character 'x' in string escape code"),
            (r#""\u12x4""#, r"invalid character 'x' in \u hexadecimal character escape"),
            ("\u{feff}{}", "invalid character 'ï' looking for beginning of value"),
        ] {
            assert_eq!(complaint(text.as_bytes()).as_deref(), Some(expected), "{text}");
        }
        for text in [" {} ", "[]", r#"{"a":{},"b":{"c":[{"d":1.5e-3},[],"x\u00e9"]}}"#, "-0", "null", "\"\u{fffd}\""] {
            assert_eq!(complaint(text.as_bytes()), None, "{text}");
        }
        assert_eq!(complaint(b"\"\xff\""), None);
        let deep = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert_eq!(complaint(deep(10_000).as_bytes()), None);
        assert_eq!(complaint(deep(10_001).as_bytes()).unwrap(), "invalid character '[' exceeded max depth");
        assert_eq!(
            complaint(r#"{"a":"#.repeat(100_000).as_bytes()).unwrap(),
            "invalid character '{' exceeded max depth"
        );
    }

    #[test]
    fn halves_and_octets_are_replaced() {
        for (text, expected) in [
            (&b"\"\xff\xfea\""[..], Some("\"\u{fffd}\u{fffd}a\"")),
            (br#""\ud800""#, Some(r#""\ufffd""#)),
            (br#""\ud800\u0041""#, Some(r#""\ufffd\u0041""#)),
            (br#""\udc00\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#)),
            (br#""\\ud800""#, None),
            ("\"é中😀\"".as_bytes(), None),
            (b"\"\xe4\xb8\"", Some("\"\u{fffd}\u{fffd}\"")),
            (b"\\", None),
        ] {
            assert_eq!(mended(text).as_deref(), expected.map(str::as_bytes), "{}", String::from_utf8_lossy(text));
        }
    }
}
