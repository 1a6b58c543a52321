//! Files with secrets in them: for their owner alone, and whole or as they were before.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile, TempDir};

use crate::regular_file;

/// The bit of a folder in which users cannot replace each other's files, as of `/tmp`.
const STICKY: u32 = 0o1000;
/// The bits of a folder that let its group or all users write.
const SHARED: u32 = 0o022;

/// Replaces the content of a file atomically.
pub(super) fn write(file: &Path, content: &[u8]) -> io::Result<()> {
    let mut new = temporary_beside(file)?;
    new.write_all(content)?;
    new.persist(file)?;
    Ok(())
}

/// Fails if [`write()`] would: to be known before there is something to lose.
pub(super) fn check_writable(file: &Path) -> io::Result<()> {
    temporary_beside(file).map(drop)
}

/// Makes a folder that no other user can read, write or replace. It is removed with the value.
pub(super) fn create_folder() -> io::Result<TempDir> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    match runtime.filter(|folder| folder.is_absolute()) {
        Some(runtime) => {
            create_folder_in(&runtime).or_else(|_| create_folder_in(&std::env::temp_dir()))
        }
        None => create_folder_in(&std::env::temp_dir()),
    }
}

fn create_folder_in(parent: &Path) -> io::Result<TempDir> {
    let found = fs::metadata(parent)?;
    let ours = rustix::process::geteuid().as_raw();
    let is_shared = found.mode() & SHARED != 0 && found.mode() & STICKY == 0;
    if is_shared || ![ours, 0].contains(&found.uid()) {
        let message = format!("other users can replace folders in {}", parent.display());
        return Err(io::Error::new(ErrorKind::PermissionDenied, message));
    }
    Builder::new()
        .prefix("rhai-operator-")
        .permissions(fs::Permissions::from_mode(0o700))
        .tempdir_in(parent)
}

/// A new file, of a name that others cannot guess, in the folder of one that it can replace.
fn temporary_beside(file: &Path) -> io::Result<NamedTempFile> {
    regular_file::check_private(file)?;
    NamedTempFile::new_in(regular_file::folder_of(file))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn writing_removes_the_access_of_other_users() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kubeconfig");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        check_writable(&file).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"old");
        write(&file, b"new").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn unwritable_paths_fail_the_check_and_the_write() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "kept").unwrap();
        symlink(&target, &link).unwrap();
        let absent = folder.path().join("none/kubeconfig");
        for file in [folder.path(), &absent, &link, Path::new("/dev/null")] {
            assert!(check_writable(file).is_err(), "{}", file.display());
            assert!(write(file, b"").is_err(), "{}", file.display());
        }
        assert_eq!(fs::read(&target).unwrap(), b"kept");
    }

    #[test]
    fn a_private_folder_is_made_only_where_others_cannot_replace_it() {
        let parent = tempfile::tempdir().unwrap();
        let allow = |mode| fs::set_permissions(parent.path(), fs::Permissions::from_mode(mode));
        for mode in [0o700, 0o755, 0o1777] {
            allow(mode).unwrap();
            let folder = create_folder_in(parent.path()).unwrap();
            let made = fs::symlink_metadata(folder.path()).unwrap();
            assert!(made.is_dir());
            assert_eq!(made.mode() & 0o777, 0o700);
        }
        for mode in [0o777, 0o770] {
            allow(mode).unwrap();
            let error = create_folder_in(parent.path()).unwrap_err().to_string();
            assert!(error.starts_with("other users can replace"), "{error}");
        }
    }
}
