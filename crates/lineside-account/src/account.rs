//! An account, as the system knows it and whatever the environment says.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::peer::own_user;

/// Where accounts are listed.
const LIST: &str = "/etc/passwd";
/// Programs that know the accounts that are listed elsewhere, each with what stands before the number of the user.
const ASKED: [(&str, &[&str]); 3] =
    [("/usr/bin/getent", &["passwd"]), ("/bin/getent", &["passwd"]), ("/usr/bin/id", &["-P"])];

/// The account of a user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// The number of the user.
    pub uid: u32,
    /// The name; empty where the system knows none.
    pub name: String,
    /// The home; none where the system knows none.
    pub home: Option<PathBuf>,
    /// The shell; empty where the system knows none.
    pub shell: String,
}

impl Account {
    /// That of this process, by its effective user.
    ///
    /// Reads the system's list of accounts, and asks a program of the system where the user is not on it.
    #[must_use]
    pub fn own() -> Self {
        let uid = own_user();
        let listed = || fs::read(LIST).ok().and_then(|list| of_list(&list, uid));
        let asked =
            || ASKED.iter().find_map(|(program, arguments)| of_list(&ask(program, arguments, uid)?, uid));
        listed().or_else(asked).unwrap_or(Self { uid, ..Self::default() })
    }

    /// The folder in which the system keeps what its programs share while the user is logged in: where it is there, is
    /// theirs, and lets no other user in.
    #[must_use]
    pub fn runtime(&self) -> Option<PathBuf> {
        let folder = self.runtime_folder();
        let found = folder.symlink_metadata().ok()?;
        let is_private = found.is_dir() && found.uid() == self.uid && found.permissions().mode() & 0o077 == 0;
        is_private.then_some(folder)
    }

    /// Where that folder would be.
    pub(crate) fn runtime_folder(&self) -> PathBuf {
        Path::new("/run/user").join(self.uid.to_string())
    }
}

fn ask(program: &str, arguments: &[&str], uid: u32) -> Option<Vec<u8>> {
    let mut command = Command::new(program);
    command.args(arguments).arg(uid.to_string()).env_clear().current_dir("/");
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then_some(output.stdout)
}

/// The account of a number in a list, of which home and shell stand last in each line.
fn of_list(list: &[u8], uid: u32) -> Option<Account> {
    let list = String::from_utf8_lossy(list);
    list.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, number, .., home, shell] = fields[..] else { return None };
        let home = Some(PathBuf::from(home)).filter(|home| home.is_absolute());
        let (name, shell) = (name.to_owned(), shell.to_owned());
        (number.parse() == Ok(uid)).then_some(Account { uid, name, home, shell })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_found_by_its_number_alone() {
        let list = b"root:x:0:0:root:/root:/bin/sh\n# a remark\n\nb:x:7:7\na:x:7:7:A, B:/home/a:/bin/ksh\nc:x:7:7::/c:\n";
        let found = of_list(list, 7).unwrap();
        let account = Account {
            uid: 7,
            name: "a".to_owned(),
            home: Some("/home/a".into()),
            shell: "/bin/ksh".to_owned(),
        };
        assert_eq!(found, account);
        assert_eq!(of_list(list, 1), None);
        assert_eq!(of_list(b"d:x:1:1::home:/bin/sh", 1).unwrap().home, None, "a relative home is none");
        let longer = of_list(b"e:*:1:1::0:0:E:/Users/e:/bin/zsh\n", 1).unwrap();
        assert_eq!(
            (longer.home.as_deref(), longer.shell.as_str()),
            (Some(Path::new("/Users/e")), "/bin/zsh")
        );
    }

    #[test]
    fn the_account_of_this_process_is_known_to_the_system_and_asking_gives_the_same() {
        let own = Account::own();
        assert!(own.home.is_some(), "{own:?}");
        let asked = ASKED.iter().find_map(|(program, arguments)| ask(program, arguments, own.uid));
        assert_eq!(asked.and_then(|list| of_list(&list, own.uid)), Some(own));
    }
}
