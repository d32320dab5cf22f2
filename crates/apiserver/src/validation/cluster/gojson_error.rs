//! What Go says about text that should be a JSON object.

/// Go's sentence; none if the text is an object (or `null`).
pub(super) fn not_an_object(text: &[u8]) -> Option<String> {
    if let Some(said) = (Scanner { text, at: 0 }).document() {
        return Some(said);
    }
    let first = text.iter().find(|b| !b.is_ascii_whitespace())?;
    let kind = match first {
        b'[' => "array",
        b'"' => "string",
        b't' | b'f' => "bool",
        b'-' | b'0'..=b'9' => "number",
        _ => return None,
    };
    Some(format!("json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"))
}

/// Finds the first character that cannot stand where it is, with Go's words for where it is.
struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

/// What a value ends with, or the complaint.
type Step = Result<(), String>;

impl Scanner<'_> {
    fn document(mut self) -> Option<String> {
        self.whole().err()
    }

    fn whole(&mut self) -> Step {
        self.value()?;
        self.blanks();
        match self.text.get(self.at) {
            None => Ok(()),
            Some(b) => Err(complaint(*b, "after top-level value")),
        }
    }

    fn blanks(&mut self) {
        while self.text.get(self.at).is_some_and(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn next(&mut self) -> Result<u8, String> {
        let b = self.text.get(self.at).copied().ok_or("unexpected end of JSON input")?;
        self.at += 1;
        Ok(b)
    }

    fn value(&mut self) -> Step {
        self.blanks();
        match self.next()? {
            b'{' => self.object(),
            b'[' => self.array(),
            b'"' => self.string(),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            b'-' => match self.next()? {
                b @ b'0'..=b'9' => self.number(b),
                b => Err(complaint(b, "in numeric literal")),
            },
            b @ b'0'..=b'9' => self.number(b),
            b => Err(complaint(b, "looking for beginning of value")),
        }
    }

    fn object(&mut self) -> Step {
        self.blanks();
        match self.next()? {
            b'}' => return Ok(()),
            b'"' => self.string()?,
            b => return Err(complaint(b, "looking for beginning of object key string")),
        }
        loop {
            self.blanks();
            match self.next()? {
                b':' => {}
                b => return Err(complaint(b, "after object key")),
            }
            self.value()?;
            self.blanks();
            match self.next()? {
                b'}' => return Ok(()),
                b',' => {}
                b => return Err(complaint(b, "after object key:value pair")),
            }
            self.blanks();
            match self.next()? {
                b'"' => self.string()?,
                b => return Err(complaint(b, "looking for beginning of object key string")),
            }
        }
    }

    fn array(&mut self) -> Step {
        self.blanks();
        if self.text.get(self.at) == Some(&b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value()?;
            self.blanks();
            match self.next()? {
                b']' => return Ok(()),
                b',' => {}
                b => return Err(complaint(b, "after array element")),
            }
        }
    }

    fn string(&mut self) -> Step {
        loop {
            match self.next()? {
                b'"' => return Ok(()),
                b'\\' => match self.next()? {
                    b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => {}
                    b'u' => {
                        for _ in 0..4 {
                            let b = self.next()?;
                            if !b.is_ascii_hexdigit() {
                                return Err(complaint(b, "in \\u hexadecimal character escape"));
                            }
                        }
                    }
                    b => return Err(complaint(b, "in string escape code")),
                },
                b if b < 0x20 => return Err(complaint(b, "in string literal")),
                _ => {}
            }
        }
    }

    fn word(&mut self, word: &str) -> Step {
        for expected in word.bytes().skip(1) {
            let b = self.next()?;
            if b != expected {
                let said = format!("in literal {word} (expecting '{}')", expected as char);
                return Err(complaint(b, &said));
            }
        }
        Ok(())
    }

    fn number(&mut self, first: u8) -> Step {
        if first != b'0' {
            self.digits();
        }
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            let b = self.next()?;
            if !b.is_ascii_digit() {
                return Err(complaint(b, "after decimal point in numeric literal"));
            }
            self.digits();
        }
        if self.text.get(self.at).is_some_and(|b| matches!(b, b'e' | b'E')) {
            self.at += 1;
            if self.text.get(self.at).is_some_and(|b| matches!(b, b'+' | b'-')) {
                self.at += 1;
            }
            let b = self.next()?;
            if !b.is_ascii_digit() {
                return Err(complaint(b, "in exponent of numeric literal"));
            }
            self.digits();
        }
        Ok(())
    }

    fn digits(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
    }
}

fn complaint(b: u8, place: &str) -> String {
    let shown = match b {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        b'\\' => r"'\\'".to_owned(),
        b'\n' => r"'\n'".to_owned(),
        b'\r' => r"'\r'".to_owned(),
        b'\t' => r"'\t'".to_owned(),
        b if b < 0x20 || b == 0x7f => format!("'\\x{b:02x}'"),
        // Go takes each byte for a character of its own.
        b => format!("'{}'", b as char),
    };
    format!("invalid character {shown} {place}")
}
