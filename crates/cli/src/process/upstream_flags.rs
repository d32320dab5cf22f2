//! The flags of the component whose place is taken, and what becomes of each here. A script that starts it must be able to
//! start this, or be told why not.

use std::ffi::OsString;

use plimsoll_runtime::Treatment::{self, Noted, Refused};

/// A flag of upstream's.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// Its name, without dashes.
    pub name: &'static str,
    /// Whether it takes a value even where none is joined to it by `=`.
    pub takes_value: bool,
    /// What becomes of it.
    pub treatment: Treatment,
}

/// A row of a table of flags.
pub const fn flag(name: &'static str, takes_value: bool, treatment: Treatment) -> Flag {
    Flag { name, takes_value, treatment }
}

/// Of flags about serving with TLS.
pub const PLAIN: Treatment =
    Noted("health and metrics are served in plain text on --health-listen, which is loopback unless told otherwise");
/// Of flags about who asks.
pub const UNAUTHENTICATED: Treatment =
    Noted("health and metrics are served on --health-listen; nobody is authenticated there");
/// Of flags about who may ask.
pub const UNAUTHORIZED: Treatment =
    Noted("health and metrics are served on --health-listen; nobody is authorized there");
/// Of flags about which metrics are shown.
pub const METRICS: Treatment = Noted("no metric is hidden or limited here");
/// Of flags about how logs are written.
pub const LOGS: Treatment = Noted("logs are written at once, line by line, to stderr");
/// Of flags about profiles of the process.
pub const PROFILING: Treatment = Noted("there is no profiling endpoint");
/// Of flags about what requests are written in.
pub const JSON: Treatment = Noted("requests are JSON");
/// Of flags about being another version.
pub const ONE_VERSION: Treatment = Refused("only one version of the behaviour is built in");

/// Takes the flags of a table that change nothing out of a command line. Gives back the rest, what is to be said, or why
/// one of them cannot be honoured.
pub fn sort_out(line: Vec<OsString>, flags: &[Flag]) -> Result<(Vec<OsString>, Vec<String>), String> {
    let mut rest = Vec::new();
    let mut notes = Vec::new();
    let mut words = line.into_iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy().into_owned();
        let Some(body) = text.strip_prefix("--") else {
            rest.push(word);
            continue;
        };
        let (name, joined) = body.split_once('=').map_or((body, None), |(name, value)| (name, Some(value.to_owned())));
        let Some(flag) = flags.iter().find(|flag| flag.name == name) else {
            rest.push(word);
            continue;
        };
        if flag.treatment == Treatment::Taken {
            rest.push(word);
            continue;
        }
        let value = match joined {
            Some(value) => value,
            None if flag.takes_value => words.next().unwrap_or_default().to_string_lossy().into_owned(),
            None => "true".to_owned(),
        };
        match flag.treatment {
            Treatment::Refused(_) if matches!(value.as_str(), "" | "false") => {}
            Treatment::Refused(why) => return Err(format!("--{name} cannot be honoured: {why}")),
            Treatment::Noted(why) => notes.push(format!("--{name} changes nothing: {why}")),
            Treatment::Taken => {}
        }
    }
    Ok((rest, notes))
}

#[cfg(test)]
pub mod tests {
    use super::{Flag, OsString, Treatment, flag, sort_out};

    /// The test data of every table: `docs/NAME.md` shows it below its mark.
    pub fn page_shows(page: &str, flags: &[Flag]) {
        assert!(flags.is_sorted_by(|a, b| a.name < b.name), "by name");
        let mut table = String::from("\n| flag | | |\n| --- | --- | --- |\n");
        for flag in flags {
            let (word, why) = flag.treatment.told();
            table.push_str(&format!("| `--{}` | {word} | {why} |\n", flag.name));
        }
        let mark = "<!-- flags: made by `UPDATE=1 cargo test -p plimsoll-cli flags_page` -->\n";
        shows(page, mark, &table);
    }

    /// Holds what follows a mark of a page, up to the next heading, against what it should be, or writes it (`UPDATE=1`).
    pub fn shows(page: &str, mark: &str, wanted: &str) {
        let path = format!("{}/../../docs/{page}.md", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap();
        let (head, rest) = text.split_once(mark).expect("the page has its mark");
        let (shown, tail) = rest.find("\n## ").map_or((rest, ""), |end| rest.split_at(end));
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path, format!("{head}{mark}{wanted}{tail}")).unwrap();
        } else {
            assert_eq!(shown, wanted, "UPDATE=1 makes the table anew");
        }
    }

    const FLAGS: [Flag; 3] = [
        flag("idle", true, Treatment::Noted("nothing is done")),
        flag("kubeconfig", true, Treatment::Taken),
        flag("wild", false, Treatment::Refused("it is not tame")),
    ];

    fn line(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn flags_that_change_nothing_are_taken_out_and_named() {
        let given = ["plimsoll", "controller", "--idle", "5s", "--idle=6s", "--v=2"];
        let (rest, notes) = sort_out(line(&given), &FLAGS).unwrap();
        assert_eq!(rest, line(&["plimsoll", "controller", "--v=2"]));
        assert_eq!(notes, ["--idle changes nothing: nothing is done"; 2]);
    }

    #[test]
    fn flags_that_cannot_be_honoured_are_refused_unless_off() {
        let refused = sort_out(line(&["plimsoll", "controller", "--wild"]), &FLAGS);
        assert_eq!(refused.unwrap_err(), "--wild cannot be honoured: it is not tame");
        let off = sort_out(line(&["plimsoll", "controller", "--wild=false"]), &FLAGS).unwrap();
        assert_eq!(off, (line(&["plimsoll", "controller"]), Vec::new()));
    }

    #[test]
    fn values_are_not_mistaken_for_flags() {
        let given = ["plimsoll", "controller", "--idle", "--odd", "--kubeconfig", "k"];
        let (rest, _) = sort_out(line(&given), &FLAGS).unwrap();
        assert_eq!(rest, line(&["plimsoll", "controller", "--kubeconfig", "k"]));
    }
}
