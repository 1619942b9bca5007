//! How do other processes of this user reach a server of our own, while it runs?
//!
//! Its password is in no store and no log. It stands in a file that only this user can read, in the
//! folder that the platform has for such files, as long as the server runs.

use std::{
    fs::{self, File, Permissions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use opencode_client::Credentials;

use crate::exit::Failure;

/// Only the owner may enter, or read and write.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// The word of one running server; dropping it takes it back.
#[derive(Debug)]
pub(crate) struct Lease {
    path: PathBuf,
}

impl Lease {
    /// Leaves the word.
    ///
    /// # Errors
    ///
    /// [`Failure::Internal`] when the folder cannot be written.
    pub(crate) fn write(
        folder: &Path,
        url: &str,
        credentials: &Credentials,
    ) -> Result<Self, Failure> {
        let path = path(folder, url);
        let written = write(folder, &path, credentials).map_err(|error| {
            let error = anyhow::Error::from(error);
            Failure::Internal(error.context(format!("{} cannot be written", path.display())))
        });
        written.map(|()| Self { path })
    }

    /// Finds the word of a server; `None` when it is none of ours, or does not run any more.
    pub(crate) fn find(folder: &Path, url: &str) -> Option<Credentials> {
        let text = fs::read_to_string(path(folder, url)).ok()?;
        let (user, password) = text.trim_end().split_once('\n')?;
        Some(Credentials::user(user, password))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // One that stays behind names a server that is gone.
        let _removed = fs::remove_file(&self.path);
    }
}

fn write(folder: &Path, path: &Path, credentials: &Credentials) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)?;
    let mut options = File::options();
    let mut file = options.write(true).create(true).truncate(true).mode(FILE_MODE).open(path)?;
    // It may have been there with other rights.
    file.set_permissions(Permissions::from_mode(FILE_MODE))?;
    let (user, password) = credentials.reveal();
    writeln!(file, "{user}\n{password}")
}

fn path(folder: &Path, url: &str) -> PathBuf {
    folder.join(format!("{:016x}.server", verbatim::digest([url.trim_end_matches('/')])))
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    };

    use opencode_client::Credentials;

    use super::Lease;

    const URL: &str = "http://127.0.0.1:4242";

    #[test]
    fn only_its_user_reads_the_word_of_a_server_and_it_goes_with_the_server() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("turnbook");
        let lease = Lease::write(&folder, URL, &Credentials::user("opencode", "a word")).unwrap();
        let files: Vec<_> = fs::read_dir(&folder).unwrap().map(Result::unwrap).collect();
        let modes = [folder.metadata().unwrap(), files[0].metadata().unwrap()];
        assert_eq!((files.len(), modes.map(|found| found.mode() & 0o777)), (1, [0o700, 0o600]));
        // With and without a slash it is one address.
        for url in [URL, "http://127.0.0.1:4242/"] {
            let found = Lease::find(&folder, url).unwrap();
            assert_eq!(found.reveal(), ("opencode", "a word"));
        }
        assert!(Lease::find(&folder, "http://127.0.0.1:4243").is_none());
        drop(lease);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }

    #[test]
    fn a_word_that_stayed_behind_is_written_over_and_closed_to_others() {
        let home = tempfile::tempdir().unwrap();
        let path = super::path(home.path(), URL);
        fs::write(&path, "somebody\nand a much longer word\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let _lease = Lease::write(home.path(), URL, &Credentials::user("u", "p")).unwrap();
        let (text, mode) = (fs::read_to_string(&path).unwrap(), path.metadata().unwrap().mode());
        assert_eq!((&*text, mode & 0o777), ("u\np\n", 0o600));
    }
}
