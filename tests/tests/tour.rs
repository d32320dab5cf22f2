//! docs/tour.md, typed: every command of it is run in order on a fresh `plimsoll up`, and what comes out must be what the page says.
//!
//! Blocks of the language `console` are played; a line `$ …` is a command, what stands below it is what it prints. `plimsoll up` begins a
//! cluster that stays. Ages, times and generated names may differ. `UPDATE=1` accepts what comes out now.
//!
//! The program must be built (`cargo build -p plimsoll-cli`); kubectl is that of PLIMSOLL_UPSTREAM.

#![allow(clippy::unwrap_used, reason = "a test: what is missing is a failure")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use plimsoll_tests::upstream::binary;
use plimsoll_tests::volumes::cluster::program;
use regex::Regex;

/// How often it is looked whether the cluster is up, and how many times: a minute.
const LOOK: Duration = Duration::from_millis(50);
const PATIENCE: usize = 1200;

/// A running cluster, ended with the test.
struct Up(Child);

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Typist {
    folder: PathBuf,
    path: String,
    up: Option<Up>,
}

impl Typist {
    /// Runs a command as somebody in a terminal would, and gives back what it prints.
    fn run(&mut self, command: &str) -> String {
        let mut shell = Command::new("bash");
        shell.arg("-c").current_dir(&self.folder).env("PATH", &self.path).env("NO_COLOR", "1").env_remove("KUBECONFIG");
        shell.env("HOME", &self.folder).stdin(Stdio::null());
        if command.starts_with("plimsoll up") {
            return self.begin(shell, command);
        }
        let done = shell.arg(format!("export KUBECONFIG=.plimsoll/kubeconfig; exec 2>&1; {command}")).output().unwrap();
        String::from_utf8(done.stdout).unwrap()
    }

    fn begin(&mut self, mut shell: Command, command: &str) -> String {
        let said = self.folder.join("said");
        // The tour has the usual port; a test must not.
        let line = format!("exec {command} --listen 127.0.0.1:0 > said 2>&1");
        self.up = Some(Up(shell.arg(line).spawn().unwrap()));
        let port = Regex::new(r"127\.0\.0\.1:\d+").unwrap();
        let mut text = String::new();
        for _ in 0..PATIENCE {
            text = std::fs::read_to_string(&said).unwrap_or_default();
            if text.lines().any(|line| line == ".plimsoll/kubeconfig") {
                return port.replace_all(&text, "127.0.0.1:6443").into_owned();
            }
            std::thread::sleep(LOOK);
        }
        panic!("the cluster does not come up: {text}");
    }
}

/// What may differ from run to run has a word, and columns are as wide as they are.
fn normal(text: &str) -> String {
    let rules = [
        (r"pvc-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "VOLUME"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME"),
        (r"\b\d+(\.\d+)? s\b", "TIME"),
        (r"\b(\d+d)?(\d+h)?(\d+m)?(\d+(\.\d+)?m?s)\b|\b(\d+d)?(\d+h)?\d+m\b|<invalid>", "TIME"),
        (r"\bTIME \(x\d+ over TIME\)", "TIME"),
        (r"10\.244\.\d+\.\d+", "ADDRESS"),
        (r"-[bcdf-hj-np-tv-z2-9]{8,10}-[bcdf-hj-np-tv-z2-9]{5}\b", "-NAME"),
        (r"[ \t]+", " "),
    ];
    let mut text = text.to_owned();
    for (pattern, word) in rules {
        text = Regex::new(pattern).unwrap().replace_all(&text, word).into_owned();
    }
    // How often a command says that it still waits is a matter of the machine.
    let lines = text.lines().map(str::trim_end).filter(|line| !line.starts_with("Waiting for "));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Plays a page; gives back the page with what came out, and every command whose output differs.
fn play(page: &str, typist: &mut Typist) -> (String, Vec<String>) {
    let (mut out, mut wrong) = (String::new(), Vec::new());
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        let _ = writeln!(out, "{line}");
        if line != "```console" {
            continue;
        }
        while let Some(line) = lines.next().filter(|line| *line != "```") {
            let command = line.strip_prefix("$ ").unwrap_or_else(|| panic!("a block of the tour begins with {line:?}"));
            let _ = writeln!(out, "{line}");
            let mut expected = String::new();
            while let Some(line) = lines.next_if(|line| *line != "```" && !line.starts_with("$ ")) {
                let _ = writeln!(expected, "{line}");
            }
            let said = typist.run(command);
            if normal(&said) == normal(&expected) {
                out.push_str(&expected);
            } else {
                wrong.push(format!("$ {command}\n--- the page says\n{expected}--- it prints\n{said}"));
                let _ = writeln!(out, "{}", said.trim_end());
            }
        }
        let _ = writeln!(out, "```");
    }
    (out, wrong)
}

#[test]
fn the_tour_is_what_its_page_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = root.join("docs/tour.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(root.join("examples"), folder.path().join("examples")).unwrap();
    let (program, kubectl) = (program().unwrap(), binary("kubectl").unwrap());
    let path = std::env::join_paths(
        [program.parent().unwrap(), kubectl.parent().unwrap()]
            .into_iter()
            .map(Path::to_owned)
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let mut typist = Typist { folder: folder.path().to_owned(), path: path.unwrap().into_string().unwrap(), up: None };
    let (played, wrong) = play(&text, &mut typist);
    if std::env::var_os("UPDATE").is_some_and(|update| update == "1") {
        std::fs::write(&page, played).unwrap();
        return;
    }
    assert!(wrong.is_empty(), "docs/tour.md is not what happens; UPDATE=1 accepts.\n{}", wrong.join("\n"));
}
