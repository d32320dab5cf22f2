//! Processes that end with what started them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

/// How long a process has to end in good order.
const PATIENCE: Duration = Duration::from_secs(5);

/// A child process with its log. It is ended by its own id when this is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    name: String,
    log: PathBuf,
}

impl Process {
    /// Starts a program; what it prints goes to `NAME.log` in the folder.
    pub fn start(folder: &Path, name: &str, command: &mut Command) -> Result<Self> {
        let log = folder.join(format!("{name}.log"));
        let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let child = command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).spawn();
        let child = child.with_context(|| format!("cannot start {:?}", command.get_program()))?;
        Ok(Self { child, name: name.to_owned(), log })
    }

    /// Its id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it printed so far.
    pub fn printed(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Whether it runs; a process that ended is an error that shows the end of its log.
    pub fn alive(&mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait()? {
            let printed = self.printed();
            let lines: Vec<&str> = printed.lines().collect();
            let last = lines[lines.len().saturating_sub(15)..].join("\n");
            bail!("{} ended with {status}:\n{last}", self.name);
        }
        Ok(())
    }

    /// Ends it at once, as a power cut would.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Stops it where it stands, as a machine that hangs would; [`Process::thaw`] lets it go on.
    pub fn freeze(&self) -> Result<()> {
        self.signal("-STOP")
    }

    /// Lets it go on.
    pub fn thaw(&self) -> Result<()> {
        self.signal("-CONT")
    }

    /// Asks it to end in good order.
    pub fn terminate(&self) -> Result<()> {
        self.signal("-TERM")
    }

    /// How it ended; `None` while it runs.
    pub fn ended(&mut self) -> Result<Option<std::process::ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    fn signal(&self, signal: &str) -> Result<()> {
        let status = Command::new("kill").args([signal, &self.child.id().to_string()]).status()?;
        if !status.success() {
            bail!("{} cannot be sent {signal}", self.name);
        }
        Ok(())
    }

    fn end(&mut self) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        let _ = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).stderr(Stdio::null()).status();
        let step = Duration::from_millis(20);
        for _ in 0..PATIENCE.as_millis() / step.as_millis() {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(step);
        }
        self.kill();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// A temporary folder that stays when the test that has it panics, and says so.
#[derive(Debug)]
pub struct Folder(Option<TempDir>);

impl Folder {
    /// A new one.
    pub fn new(name: &str) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix(&format!("plimsoll-{name}-")).tempdir();
        Ok(Self(Some(folder.context("cannot make a temporary folder")?)))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.as_ref().map_or(Path::new(""), TempDir::path)
    }
}

impl Drop for Folder {
    #[allow(clippy::print_stderr, reason = "the one who looks for the logs of a failed test reads this")]
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Some(folder) = self.0.take()
        {
            eprintln!("logs are kept in {}", folder.keep().display());
        }
    }
}
