//! Token files as upstream's `--token-auth-file` has them: `token,user,uid,"group1,group2"` a line.

use crate::auth::identity::{Tokens, User};

/// One line of a token file.
#[derive(Clone, PartialEq, Eq)]
pub struct Entry {
    /// The token.
    pub token: String,
    /// Whose it is.
    pub user: User,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry").field("user", &self.user).finish_non_exhaustive()
    }
}

/// Reads a token file. Empty tokens are skipped; `Err` names the line, and never shows its content.
pub fn parse(text: &str) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    for (line, record) in records(text)? {
        let [token, name, uid, rest @ ..] = record.as_slice() else {
            return Err(format!(
                "line {line}: must have at least 3 columns (token, user name, user uid), found {}",
                record.len()
            ));
        };
        if token.is_empty() {
            continue;
        }
        let groups = rest.first().map(|g| g.split(',').map(str::to_owned).collect()).unwrap_or_default();
        let user = User { name: name.clone(), uid: uid.clone(), groups, ..User::default() };
        entries.push(Entry { token: token.clone(), user });
    }
    Ok(entries)
}

/// The text of a token file.
pub fn render(entries: &[Entry]) -> String {
    let mut out = String::new();
    for Entry { token, user } in entries {
        let mut columns = vec![quoted(token), quoted(&user.name), quoted(&user.uid)];
        if !user.groups.is_empty() {
            columns.push(quoted(&user.groups.join(",")));
        }
        out.push_str(&columns.join(","));
        out.push('\n');
    }
    out
}

impl Tokens {
    /// Adds the entries of a token file; of two with the same token, the later counts.
    pub fn extend(&mut self, entries: Vec<Entry>) {
        for Entry { token, user } in entries {
            self.insert(&token, user);
        }
    }
}

fn quoted(text: &str) -> String {
    if text.is_empty() || !text.contains([',', '"', '\n', '\r']) && !text.starts_with(' ') {
        return text.to_owned();
    }
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// The records of a CSV text, each with the line it starts on. Quoted columns may hold commas, doubled quotes and line breaks.
fn records(text: &str) -> Result<Vec<(usize, Vec<String>)>, String> {
    let mut out = Vec::new();
    let (mut line, mut start) = (1, 1);
    let mut record: Vec<String> = Vec::new();
    let mut column = String::new();
    let mut quotes = Quotes::None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, quotes) {
            ('"', Quotes::None) if column.is_empty() => quotes = Quotes::Open,
            ('"', Quotes::Open) if chars.peek() == Some(&'"') => {
                chars.next();
                column.push('"');
            }
            ('"', Quotes::Open) => quotes = Quotes::Closed,
            ('\r', Quotes::None | Quotes::Closed) if chars.peek() == Some(&'\n') => {}
            ('\n', Quotes::None | Quotes::Closed) => {
                line += 1;
                record.push(std::mem::take(&mut column));
                // An empty line is no record.
                let taken = std::mem::take(&mut record);
                if taken.len() > 1 || quotes == Quotes::Closed || taken.iter().any(|c| !c.is_empty()) {
                    out.push((start, taken));
                }
                (start, quotes) = (line, Quotes::None);
            }
            (',', Quotes::None | Quotes::Closed) => {
                record.push(std::mem::take(&mut column));
                quotes = Quotes::None;
            }
            ('"', _) | (_, Quotes::Closed) => return Err(format!("line {line}: a quote where none may be")),
            (c, _) => {
                line += usize::from(c == '\n');
                column.push(c);
            }
        }
    }
    if quotes == Quotes::Open {
        return Err(format!("line {start}: a quote is not closed"));
    }
    if !record.is_empty() || !column.is_empty() {
        record.push(column);
        out.push((start, record));
    }
    Ok(out)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None,
    Open,
    Closed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading() {
        let text = "t1,jane,7\n\nt2,joe,8,\"a,b\"\r\n,nobody,9\n\"t,\"\"3\",x,,c";
        let entries = parse(text).unwrap();
        let seen: Vec<_> =
            entries.iter().map(|e| (e.token.as_str(), e.user.name.as_str(), e.user.groups.join("|"))).collect();
        assert_eq!(seen, [("t1", "jane", String::new()), ("t2", "joe", "a|b".into()), ("t,\"3", "x", "c".into())]);
        assert!(!format!("{entries:?}").contains("t2"));
    }

    #[test]
    fn bad_files() {
        for (text, want) in [
            ("a,b", "line 1: must have at least 3 columns (token, user name, user uid), found 2"),
            ("t,a,b\n\"x", "line 2: a quote is not closed"),
            ("a\"b,c,d", "line 1: a quote where none may be"),
            ("\"a\"b,c,d", "line 1: a quote where none may be"),
        ] {
            assert_eq!(parse(text), Err(want.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let user = |name: &str, groups: &[&str]| User { uid: "1".into(), ..User::in_groups(name, groups) };
        let entries = vec![
            Entry { token: "t1".into(), user: user("a", &[]) },
            Entry { token: "t\"2,".into(), user: user("b c", &["g1", "g2"]) },
        ];
        assert_eq!(parse(&render(&entries)).unwrap(), entries);
        assert_eq!(render(&entries), "t1,a,1\n\"t\"\"2,\",b c,1,\"g1,g2\"\n");
    }
}
