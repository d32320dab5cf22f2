//! Files that only their owner may read.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Writes a file that only its owner can read (mode 0600). A reader sees the old content or the new, never half of it, also after
/// a crash.
pub fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let name = path.file_name().ok_or_else(|| io::Error::other("a file needs a name"))?;
    let mut temporary = name.to_owned();
    temporary.push(".new");
    let temporary = path.with_file_name(temporary);
    // A leftover of an earlier crash may have another mode.
    if let Err(error) = fs::remove_file(&temporary)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&temporary)?;
    file.write_all(content)?;
    file.sync_all()?;
    drop(file);
    fs::rename(&temporary, path)?;
    if let Some(folder) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
        fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// The content of a file, or `None` where there is no such file.
pub fn read_if_there(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The secret in a file; made on the first call.
pub fn secret(path: &Path, random: &mut dyn rand::RngCore) -> io::Result<Vec<u8>> {
    if let Some(secret) = read_if_there(path)?.filter(|secret| secret.len() >= 32) {
        return Ok(secret);
    }
    let mut secret = vec![0u8; 32];
    random.fill_bytes(&mut secret);
    write_private(path, &secret)?;
    Ok(secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn only_the_owner_reads_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        fs::write(folder.path().join("secret.new"), "left over").unwrap();
        for content in ["one", "two"] {
            write_private(&path, content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_secret_stays() {
        use rand::SeedableRng as _;
        let folder = tempfile::tempdir().unwrap();
        let mut random = rand::rngs::StdRng::seed_from_u64(1);
        let first = secret(&folder.path().join("key"), &mut random).unwrap();
        assert_eq!(first.len(), 32);
        assert_eq!(secret(&folder.path().join("key"), &mut random).unwrap(), first);
    }
}
