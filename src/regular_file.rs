//! Opens and reads regular files, and refuses all others.
//!
//! A reader of a named pipe can block forever, a device can return endless data, and in a folder that
//! other users can write to, a link can point anywhere. These functions open without blocking, check the
//! type of the file before they read it, and read at most a given number of bytes.

use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// The largest file of a project that is read. A `ConfigMap`, which most projects are mounted from, holds
/// 1 MiB.
pub(crate) const LIMIT: u64 = 16 << 20;

/// Reads a file of at most `limit` bytes; links are followed.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    check(path)?;
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(flags(OFlags::empty()));
    let file = file.open(path)?;
    expect_regular(&file.metadata()?)?;
    read_open(&file, limit)
}

/// Reads a UTF-8 file of at most [`LIMIT`] bytes; links are followed.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    let text = String::from_utf8(read(path, LIMIT)?);
    text.map_err(|_| io::Error::new(ErrorKind::InvalidData, "expected UTF-8"))
}

/// Fails unless a path is a regular file; links are followed.
pub(crate) fn check(path: &Path) -> io::Result<()> {
    expect_regular(&fs::metadata(path)?)
}

/// Fails if a path is there and is a link, no regular file, or of another user.
pub(crate) fn check_private(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) => expect_regular(&found).and_then(|()| expect_own(path, &found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Opens a file that this process keeps for itself: no link, and not prepared by another user.
pub(crate) fn open_private(path: &Path, options: &OpenOptions) -> io::Result<File> {
    check_private(path)?;
    let mut options = options.clone();
    let file = options.mode(0o600).custom_flags(flags(OFlags::NOFOLLOW));
    let file = file.open(path)?;
    let opened = file.metadata()?;
    expect_regular(&opened)?;
    expect_own(path, &opened)?;
    Ok(file)
}

/// Returns the folder that a file is in, by a path that can be opened.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Reads an open file of at most `limit` bytes.
pub(crate) fn read_open(mut file: &File, limit: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let size = Read::take(&mut file, limit + 1).read_to_end(&mut content)?;
    if size as u64 > limit {
        let message = format!("expected at most {} MiB, found more", limit >> 20);
        return Err(io::Error::new(ErrorKind::FileTooLarge, message));
    }
    Ok(content)
}

/// Adds `O_NONBLOCK`, so that opening a named pipe does not wait for its other end.
fn flags(more: OFlags) -> i32 {
    (OFlags::NONBLOCK | more).bits().cast_signed()
}

fn expect_regular(found: &Metadata) -> io::Result<()> {
    if found.is_file() {
        return Ok(());
    }
    let kind = name(found.file_type());
    let message = format!("expected a regular file, found a {kind}");
    Err(io::Error::new(ErrorKind::InvalidInput, message))
}

fn name(kind: FileType) -> &'static str {
    if kind.is_dir() {
        "folder"
    } else if kind.is_symlink() {
        "symbolic link"
    } else if kind.is_fifo() {
        "named pipe"
    } else if kind.is_socket() {
        "socket"
    } else {
        "device"
    }
}

/// Refuses a file of another user, unless the folder is theirs: then the user was named with it.
fn expect_own(path: &Path, opened: &Metadata) -> io::Result<()> {
    let ours = rustix::process::geteuid().as_raw();
    let folder = fs::metadata(folder_of(path))?;
    if [ours, folder.uid()].contains(&opened.uid()) {
        return Ok(());
    }
    let message = format!("belongs to the user {}", opened.uid());
    Err(io::Error::new(ErrorKind::PermissionDenied, message))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    #[test]
    fn special_files_are_errors_and_do_not_block() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        mkfifoat(CWD, path("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        let _listener = UnixListener::bind(path("socket")).unwrap();
        symlink(path("pipe"), path("link")).unwrap();
        for (file, kind) in [
            (path("pipe"), "named pipe"),
            (path("link"), "named pipe"),
            (path("socket"), "socket"),
            ("/dev/zero".into(), "device"),
            (folder.path().into(), "folder"),
        ] {
            let error = read(&file, LIMIT).unwrap_err().to_string();
            assert_eq!(error, format!("expected a regular file, found a {kind}"));
            assert!(check(&file).is_err());
        }
        let absent = read(&path("absent"), LIMIT).unwrap_err();
        assert_eq!(absent.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn a_file_is_read_up_to_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "12345").unwrap();
        assert_eq!(read(&file, 5).unwrap(), b"12345");
        let error = read(&file, 4).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        // It takes no room on the disk, and would take all memory.
        File::create(&file).unwrap().set_len(1 << 40).unwrap();
        let error = read_text(&file).unwrap_err().to_string();
        assert_eq!(error, "expected at most 16 MiB, found more");
    }

    #[test]
    fn a_private_file_is_not_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        open_private(&file, &options).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        symlink(&file, &link).unwrap();
        let error = open_private(&link, &options).unwrap_err().to_string();
        assert_eq!(error, "expected a regular file, found a symbolic link");
    }
}
