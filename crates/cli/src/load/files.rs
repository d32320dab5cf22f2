//! Clusters from files: what `-f` names, in an order that does not depend on the file system.

use std::borrow::Cow;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use plimsoll_api::manifest::{self, Whole};
use plimsoll_api::{ClusterReader, Limits, Loaded, ManifestError};

use crate::failure::Failure;

/// What a folder's files are called to be read. A file that is named itself may be called anything.
const EXTENSIONS: [&str; 4] = ["yaml", "yml", "json", "jsonl"];

/// How deep folders may nest. Symbolic links to folders are not followed, so only a mistake is deeper.
const MAX_DEPTH: usize = 32;

/// Reads everything that `paths` name as a cluster.
pub fn read(paths: &[PathBuf]) -> Result<Loaded, Failure> {
    let files = list(paths)?;
    let mut reader = ClusterReader::default();
    for file in &files {
        let text = text(file)?;
        reader.read(plimsoll_api::Source { name: &name(file), text: &text }, Limits::default());
    }
    let help = "nothing was decided: correct the input, or take these documents out of it";
    reader.finish().map_err(|errors| failure(errors, &files).help(help))
}

/// Reads everything that `paths` name as objects of any kind, in order.
pub fn whole(paths: &[PathBuf]) -> Result<Vec<Whole>, Failure> {
    let files = list(paths)?;
    let (mut objects, mut errors) = (Vec::new(), Vec::new());
    for file in &files {
        let text = text(file)?;
        let read = manifest::whole(plimsoll_api::Source { name: &name(file), text: &text }, Limits::default());
        objects.extend(read.0);
        errors.extend(read.1);
    }
    if errors.is_empty() {
        return Ok(objects);
    }
    Err(failure(errors, &files).help("nothing was started: correct the input, or take these documents out of it"))
}

/// What messages call a file.
fn name(file: &Path) -> Cow<'_, str> {
    if is_stdin(file) { "stdin".into() } else { file.to_string_lossy() }
}

/// The files that `paths` name, in order.
fn list(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        if is_stdin(path) {
            if !files.contains(path) {
                files.push(path.clone());
            }
            continue;
        }
        let known = files.len();
        walk(path, 0, &mut files)?;
        if files.len() == known {
            let message = format!("{}: there are no manifests in this folder", path.display());
            return Err(Failure::new(message).help("files called *.yaml, *.yml, *.json and *.jsonl are read"));
        }
    }
    Ok(files)
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Every error of the input, in its order. They name file, document and field themselves.
fn failure(mut errors: Vec<ManifestError>, files: &[PathBuf]) -> Failure {
    errors.sort_by_cached_key(|e| {
        let file = files.iter().position(|f| f.to_string_lossy() == *e.place.source);
        (file, e.place.document, e.place.item)
    });
    Failure::all(errors.iter().map(ToString::to_string).collect())
}

fn walk(path: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let meta = fs::metadata(path).map_err(|e| unreadable(path, &e))?;
    if !meta.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    if depth > MAX_DEPTH {
        return Err(Failure::new(format!("{}: folders nest too deep", path.display())));
    }
    let mut entries = Vec::new();
    for entry in fs::read_dir(path).map_err(|e| unreadable(path, &e))? {
        entries.push(entry.map_err(|e| unreadable(path, &e))?.path());
    }
    entries.sort_unstable();
    for entry in entries {
        let hidden = entry.file_name().is_none_or(|n| n.to_string_lossy().starts_with('.'));
        let is_folder = fs::symlink_metadata(&entry).is_ok_and(|m| m.is_dir());
        let is_manifest =
            entry.extension().is_some_and(|e| EXTENSIONS.iter().any(|known| e.eq_ignore_ascii_case(known)));
        if !hidden && (is_folder || (is_manifest && entry.is_file())) {
            walk(&entry, depth + 1, files)?;
        }
    }
    Ok(())
}

fn text(path: &Path) -> Result<String, Failure> {
    let bytes = if is_stdin(path) {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        read.map_err(|e| Failure::new(format!("stdin: cannot be read: {e}")))?;
        bytes
    } else {
        fs::read(path).map_err(|e| unreadable(path, &e))?
    };
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        Failure::new(format!("{}: byte {at} is not UTF-8 text", path.display()))
            .help("manifests are YAML or JSON text; unpack compressed files first")
    })
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let failure = Failure::new(format!("{}: {error}", path.display()));
    if error.kind() == std::io::ErrorKind::NotFound {
        return failure.help("-f takes a file, a folder, or - for stdin");
    }
    failure
}
