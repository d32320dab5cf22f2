//! kubectl sessions: lists of shell commands, played on a server, with answers in which all that differs from run to run has a word.
//!
//! A line is a command, with its here-documents and continued lines; `#` begins a comment. `#~ reason` before a command says that its
//! answer is known to differ, and why: it is played for what it does, and not compared. `watching kubectl …` begins a command that watches,
//! and goes on once it does.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use anyhow::{Context as _, Result};
use regex::Regex;
use serde_json::Value;

use crate::upstream::binary;

/// A command of a session.
#[derive(Debug, Clone)]
pub struct Step {
    /// Where it begins.
    pub line: usize,
    /// What the shell is given.
    pub command: String,
    /// Why its answer may differ.
    pub differs: Option<String>,
}

/// What a command said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// How it ended.
    pub code: Option<i32>,
    /// What it printed.
    pub out: String,
    /// What it complained of.
    pub err: String,
}

/// Reads a session.
pub fn parse(text: &str) -> Vec<Step> {
    static HERE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"<<'?(\w+)'?").ok());
    let mut lines = text.lines().enumerate();
    let (mut steps, mut differs) = (Vec::new(), None);
    while let Some((number, line)) = lines.next() {
        if let Some(reason) = line.strip_prefix("#~") {
            differs = Some(reason.trim().to_owned());
            continue;
        }
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let mut command = line.to_owned();
        while command.ends_with('\\') {
            let Some((_, next)) = lines.next() else { break };
            command = format!("{command}\n{next}");
        }
        let first = command.clone();
        for word in HERE.iter().flat_map(|here| here.captures_iter(&first)).filter_map(|found| found.get(1)) {
            for (_, next) in lines.by_ref() {
                let _ = write!(command, "\n{next}");
                if next == word.as_str() {
                    break;
                }
            }
        }
        steps.push(Step { line: number + 1, command, differs: differs.take() });
    }
    steps
}

/// What the shell knows beside its own commands. How long kubectl takes to its watch is a matter of the machine, so it is asked to say
/// when it has it.
const FUNCTIONS: &str = r#"watching() {
    local log
    log=$(mktemp)
    "$@" -v=6 2> >(tee "$log" | grep -v '^I[0-9]' >&2) &
    until grep -q 'watch=true.*200 OK' "$log" || ! kill -0 $! 2> /dev/null; do sleep 0.1; done
}
"#;

/// A server as kubectl sees it.
#[derive(Debug, Clone)]
pub struct Player {
    kubeconfig: PathBuf,
    kubectl: PathBuf,
    /// Texts that only this server uses, and the words for them.
    own: Vec<(String, &'static str)>,
}

impl Player {
    /// For the server at `url`.
    pub fn new(kubeconfig: &Path, url: &str) -> Result<Self> {
        let kubectl = binary("kubectl")?;
        let address = url.trim_start_matches("https://").trim_end_matches('/').to_owned();
        let port = address.rsplit(':').next().unwrap_or_default().to_owned();
        // A server that has just started writes down its address a moment later.
        let mut host = String::new();
        for _ in 0..150 {
            let asked = Command::new(&kubectl)
                .args(["get", "endpoints", "kubernetes", "-o", "jsonpath={.subsets[0].addresses[0].ip}"])
                .arg("--kubeconfig")
                .arg(kubeconfig)
                .output()?;
            host = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
            if !host.is_empty() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        let mut own =
            vec![(address, "<server>"), (format!("{host}:{port}"), "<server>"), (host, "<host>"), (port, "<port>")];
        own.retain(|(text, _)| !text.is_empty());
        Ok(Self { kubeconfig: kubeconfig.to_owned(), kubectl, own })
    }

    /// Plays a session in a folder of its own, from the first command to the last.
    pub fn play(&self, steps: &[Step]) -> Result<Vec<Answer>> {
        let folder = tempfile::Builder::new().prefix("plimsoll-kubectl-").tempdir()?;
        // A session may choose its namespace: the file is its own.
        let kubeconfig = folder.path().join("kubeconfig");
        std::fs::copy(&self.kubeconfig, &kubeconfig)?;
        let functions = folder.path().join("functions.sh");
        std::fs::write(&functions, FUNCTIONS)?;
        let programs = self.kubectl.parent().unwrap_or(Path::new("")).display().to_string();
        let path = format!("{programs}:{}", std::env::var("PATH").unwrap_or_default());
        let own = [(folder.path().display().to_string(), "<folder>")];
        let mut answers = Vec::new();
        for step in steps {
            let done = Command::new("timeout")
                .args(["60", "bash", "-c", &step.command])
                .current_dir(folder.path())
                .env("KUBECONFIG", &kubeconfig)
                .env("BASH_ENV", &functions)
                .env("HOME", folder.path())
                .env("TMPDIR", folder.path())
                .env("PATH", &path)
                .stdin(Stdio::null())
                .output()
                .with_context(|| format!("cannot run {}", step.command))?;
            let text = |bytes: &[u8]| {
                let mut text = String::from_utf8_lossy(bytes).into_owned();
                for (from, to) in own.iter().chain(&self.own) {
                    text = text.replace(from, to);
                }
                normal(&text)
            };
            answers.push(Answer { code: done.status.code(), out: text(&done.stdout), err: text(&done.stderr) });
        }
        Ok(answers)
    }
}

/// What differs from run to run, and its word. Applied in this order.
const WORDS: [(&str, &str); 21] = [
    // The real server looks over its own addresses every few minutes and says so on services that it met half-made.
    (r"(?m)^.*ipallocator-repair-controller.*\n", ""),
    (r"(?m)^Events:\n +Type +Reason.*\n +-+ +-+.*\n(\S|\z)", "Events:  <none>\n$1"),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>"),
    (r"\d{4}-\d\d-\d\dT\d\d[:_]\d\d[:_]\d\d(\.\d+)?(Z|\+00:00)", "<time>"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000 UTC", "<time>"),
    (r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w\w\w \d{4} \d\d:\d\d:\d\d [+]\d{4}", "<time>"),
    (r#"("?resourceVersion"?: ?)"\d+""#, r#"$1"<version>""#),
    (r"(Resource Version: +)\d+", "$1<version>"),
    // Of an object that is quoted in a refusal.
    (r#"(\\"resourceVersion\\":\\")\d+"#, "$1<version>"),
    // The range of services, and of node ports.
    (r"\b10\.0\.0\.\d+\b", "<ip>"),
    (r"\b3[0-2]\d\d\d\b", "<nodeport>"),
    (r"eyJ[\w-]+\.[\w-]+\.[\w-]+", "<token>"),
    // How log lines begin.
    (r"[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ", ""),
    // The letters of generated names.
    (r"([a-z]-)[bcdfghjklmnpqrstvwxz2456789]{5}\b", "$1<letters>"),
    // Columns are as wide as their widest entry.
    (r"(\S)  +", "$1  "),
    (r"(?m) +$", ""),
    (r"-{5,}", "-----"),
    // Ages, of which two may stand side by side.
    (r"(?m)  (\d+[smhdy](\d+[smhdy])?|<invalid>)( \(x\d+ over [\dsmhdy]+\))?(  |$)", "  <age>$4"),
    (r"(?m)  (\d+[smhdy](\d+[smhdy])?|<invalid>)( \(x\d+ over [\dsmhdy]+\))?(  |$)", "  <age>$4"),
    (r"  \d+[smhdy](\d+[smhdy])? ago", "  <age> ago"),
    (r"\(lasts \w+\)", "(lasts <age>)"),
];

static PATTERNS: LazyLock<Vec<(Regex, &'static str)>> =
    LazyLock::new(|| WORDS.iter().filter_map(|(pattern, word)| Some((Regex::new(pattern).ok()?, *word))).collect());

/// An answer without what differs from run to run. JSON is written in one order.
pub fn normal(text: &str) -> String {
    let end = &text[text.trim_end().len()..];
    let sorted = serde_json::from_str::<Value>(text).ok().and_then(|value| serde_json::to_string_pretty(&value).ok());
    let mut text = sorted.map_or_else(|| text.to_owned(), |sorted| sorted + end);
    for (pattern, word) in PATTERNS.iter() {
        text = pattern.replace_all(&text, *word).into_owned();
    }
    sort_map_complaints(&text)
}

/// Complaints about the entries of one map (`* spec.hard[pods]: ...`) in the order of their keys: the real server looks at a map in an
/// order of its own each time. All others stay where they are.
fn sort_map_complaints(text: &str) -> String {
    let entry = |line: &str| -> Option<(String, String)> {
        let (map, rest) = line.strip_prefix("* ")?.split_once('[')?;
        let (key, _) = rest.split_once("]: ")?;
        let is_key = !map.contains(':') && key.bytes().any(|byte| !byte.is_ascii_digit());
        is_key.then(|| (map.to_owned(), key.to_owned()))
    };
    let mut lines: Vec<(Option<(String, String)>, &str)> =
        text.split_inclusive('\n').map(|line| (entry(line), line)).collect();
    for of_one_map in
        lines.chunk_by_mut(|(a, _), (b, _)| a.is_some() && a.as_ref().map(|a| &a.0) == b.as_ref().map(|b| &b.0))
    {
        of_one_map.sort_by(|(a, _), (b, _)| a.cmp(b));
    }
    lines.into_iter().map(|(_, line)| line).collect()
}

/// The lines that only one side has, in their order: what is left beside the longest run of lines common to both.
fn changes<'a>(a: &[&'a str], b: &[&'a str]) -> Vec<(char, &'a str)> {
    // common[i][j]: how many lines a[i..] and b[j..] have in common.
    let mut common = vec![vec![0_u32; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i][j] = if a[i] == b[j] { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut out) = (0, 0, Vec::new());
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == b.len() || i < a.len() && common[i + 1][j] >= common[i][j + 1] {
            out.push(('-', a[i]));
            i += 1;
        } else {
            out.push(('+', b[j]));
            j += 1;
        }
    }
    out
}

/// What differs between two answers, line by line; empty where nothing does.
pub fn difference(theirs: &Answer, ours: &Answer) -> String {
    let mut out = String::new();
    if theirs.code != ours.code {
        let _ = writeln!(out, "  exit code: theirs {:?}, ours {:?}", theirs.code, ours.code);
    }
    for (what, theirs, ours) in [("stdout", &theirs.out, &ours.out), ("stderr", &theirs.err, &ours.err)] {
        if theirs == ours {
            continue;
        }
        let (a, b): (Vec<&str>, Vec<&str>) = (theirs.lines().collect(), ours.lines().collect());
        let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
        let _ = writeln!(out, "  {what}, from line {}:", same + 1);
        for (sign, line) in changes(&a[same..], &b[same..]).into_iter().take(40) {
            let _ = writeln!(out, "  {sign} {line}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_take_their_documents_and_reasons_along() {
        let steps = parse(
            "# words\nkubectl get a \\\n  b\n\n#~ because\nkubectl apply -f - <<EOF\na: b\n\n# c\nEOF\nkubectl x\n",
        );
        let seen: Vec<_> = steps.iter().map(|s| (s.line, s.command.as_str(), s.differs.as_deref())).collect();
        let apply = "kubectl apply -f - <<EOF\na: b\n\n# c\nEOF";
        assert_eq!(seen, [(2, "kubectl get a \\\n  b", None), (6, apply, Some("because")), (11, "kubectl x", None)]);
    }

    #[test]
    fn what_differs_from_run_to_run_has_a_word() {
        for (text, expected) in [
            ("NAME   AGE\nweb    12s\n", "NAME  AGE\nweb  <age>\n"),
            ("a  5s  3m4s  b", "a  <age>  <age>  b"),
            ("for 300s", "for 300s"),
            (r#"resourceVersion: "12""#, r#"resourceVersion: "<version>""#),
            ("clusterIP: 10.0.0.17", "clusterIP: <ip>"),
            (
                "Events:\n  Type     Reason  Age   From  Message\n  ----     ------  ----  ----  -------\n  \
                 Warning  ClusterIPNotAllocated  5s  ipallocator-repair-controller  Cluster IP: 10.0.0.1\n",
                "Events:  <none>\n",
            ),
            (
                "* a[1]: x\n* a[0]: x\n* m[b]: 2\n* m[b]: 1\n* m[a]: x\n* n[a]: x\n* m: x\n",
                "* a[1]: x\n* a[0]: x\n* m[a]: x\n* m[b]: 2\n* m[b]: 1\n* n[a]: x\n* m: x\n",
            ),
            ("configmap/gen-x2b4z created", "configmap/gen-<letters> created"),
            (r#"{"b":1,"a":"2026-01-01T00:00:00Z"}"#, "{\n  \"a\": \"<time>\",\n  \"b\": 1\n}"),
        ] {
            assert_eq!(normal(text), expected);
        }
        assert_eq!(PATTERNS.len(), WORDS.len());
    }
}
