//! Files with secrets in them: for their owner alone, and whole or as they were before.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Writes a file; its content takes the place of what was there in one step.
pub(super) fn write(file: &Path, content: &[u8]) -> io::Result<()> {
    if is_special(file) {
        return fs::write(file, content);
    }
    let new = beside(file);
    create(&new)?.write_all(content)?;
    fs::rename(&new, file)
}

/// Fails if [`write()`] would: to be known before there is something to lose.
pub(super) fn try_out(file: &Path) -> io::Result<()> {
    if is_special(file) {
        return OpenOptions::new().append(true).open(file).map(drop);
    }
    let new = beside(file);
    create(&new)?;
    fs::remove_file(&new)
}

/// A device, a pipe: nothing can take its place. Nor a folder, as its error says then.
fn is_special(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|known| !known.is_file())
}

/// A file that nobody else has opened, or has made a link to somewhere.
fn create(new: &Path) -> io::Result<fs::File> {
    match fs::remove_file(new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        // Left by a process that was killed, at most.
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(new)
}

fn beside(file: &Path) -> PathBuf {
    let mut new = file.as_os_str().to_owned();
    new.push(".new");
    new.into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_was_open_to_all_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kubeconfig");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        fs::write(beside(&file), "left behind").unwrap();
        try_out(&file).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"old");
        write(&file, b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn where_nothing_can_be_written_is_told_before_and_then() {
        let folder = tempfile::tempdir().unwrap();
        for file in [folder.path(), &folder.path().join("none/kubeconfig")] {
            assert!(try_out(file).is_err() && write(file, b"").is_err());
        }
        write(Path::new("/dev/null"), b"nothing takes its place").unwrap();
        assert!(is_special(Path::new("/dev/null")));
    }
}
