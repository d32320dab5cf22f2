//! What the tests of the command share: the command itself, and transcripts of it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Where the cases are; commands run there, so that messages hold short paths.
pub fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explain")
}

/// The command, without anything that this machine's user has set.
pub fn plimsoll() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.current_dir(cases()).env_clear().env("HOME", "/nonexistent").env("KUBECONFIG", "/nonexistent/kubeconfig");
    command
}

/// Runs a command to its end with this on its stdin.
pub fn run(command: &mut Command, input: &[u8]) -> Output {
    let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = streams.spawn().unwrap();
    // A command that fails early does not read its stdin.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

/// Whether what comes out is accepted as it is.
pub fn update() -> bool {
    std::env::var_os("UPDATE").is_some_and(|v| v == "1")
}

/// Compares `got` with a file, or writes it there with `UPDATE=1`.
pub fn check_file(path: &Path, got: &str) {
    if update() {
        std::fs::write(path, got).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    assert!(expected == got, "{} differs; UPDATE=1 accepts.\n--- expected\n{expected}\n--- got\n{got}", path.display());
}

/// Runs every `$ plimsoll …` line of a transcript and gives back the transcript with what comes out now.
///
/// Lines of stderr are marked with `stderr| `, an exit code other than 0 stands below. `> FILE` sends stdout to a file of
/// its own, which is compared likewise; `< FILE` is stdin. Text before the first command stays.
pub fn replay(transcript: &str) -> String {
    let mut out = String::new();
    for line in transcript.lines() {
        let Some(words) = line.strip_prefix("$ plimsoll ") else {
            if !out.contains("$ plimsoll ") {
                out.push_str(line);
                out.push('\n');
            }
            continue;
        };
        out.push_str(line);
        out.push('\n');
        let (words, file) = words.split_once(" > ").map_or((words, None), |(w, f)| (w, Some(f)));
        let (words, input) = words.split_once(" < ").map_or((words, None), |(w, f)| (w, Some(f)));
        let input = input.map(|f| std::fs::read(cases().join(f)).unwrap()).unwrap_or_default();
        let done = run(plimsoll().args(words.split_whitespace()), &input);
        let stdout = String::from_utf8(done.stdout).unwrap();
        match file {
            Some(file) => check_file(&cases().join(file), &stdout),
            None => out.push_str(&stdout),
        }
        for line in String::from_utf8(done.stderr).unwrap().lines() {
            out.push_str(&format!("stderr| {line}\n").replace("stderr| \n", "stderr|\n"));
        }
        match done.status.code() {
            Some(0) => {}
            code => out.push_str(&format!("[exit {}]\n", code.unwrap())),
        }
    }
    out
}
