//! What is known of a command's surroundings.

/// The shell that is to run a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Shell {
    /// bash.
    #[default]
    Bash,
    /// A POSIX shell, as dash.
    Sh,
    /// zsh, with the options of a fresh installation.
    Zsh,
    /// Any other, as fish and PowerShell: nothing is promised but that it is unclear.
    Other,
}

impl Shell {
    /// The shell of a program's name, as `bash`, `zsh`, `pwsh`.
    pub fn named(name: &str) -> Shell {
        match name {
            "bash" | "rbash" => Shell::Bash,
            "sh" | "dash" | "ash" | "ksh" | "mksh" => Shell::Sh,
            "zsh" => Shell::Zsh,
            _ => Shell::Other,
        }
    }
}

/// Where links lead.
pub trait Links {
    /// The path with its links resolved; of a path that does not exist yet, its deepest directory that does. None
    /// where it leads nowhere else. With `last` false, a link that is the path itself is not followed.
    fn resolve(&self, path: &str, last: bool) -> Option<String>;

    /// The links and the folders among the names of a folder that fit, each with whether it is a link; nothing of a folder that
    /// is not there. Each name that is read takes one of `left`. None where that does not suffice, or where what the folder holds
    /// cannot be known.
    fn names(
        &self,
        _folder: &str,
        _fits: &dyn Fn(&str) -> bool,
        _left: &mut usize,
    ) -> Option<Vec<(String, bool)>> {
        Some(Vec::new())
    }

    /// The file at a path without links, where it has other names as well; none of one that has not, and where it cannot be
    /// known.
    fn file(&self, _path: &str) -> Option<FileId> {
        None
    }

    /// Whether one of the names of a file is this place or lies below it, and fits. Each name that is read takes one of `left`;
    /// none where that does not suffice.
    fn has_name(
        &self,
        _file: FileId,
        _place: &str,
        _fits: &dyn Fn(&str) -> bool,
        _left: &mut usize,
    ) -> Option<bool> {
        Some(false)
    }
}

/// A file, whichever of its names leads to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    /// The number of its device.
    pub device: u64,
    /// Its number on that.
    pub number: u64,
}

/// What is known of a command's surroundings.
#[derive(Clone, Copy)]
pub struct Surroundings<'s> {
    /// The folder that it starts in, absolute.
    pub cwd: &'s str,
    /// The folder of the project, absolute.
    pub project: &'s str,
    /// The home of the account.
    pub home: &'s str,
    /// The name of the account.
    pub user: &'s str,
    /// The folders for temporary files.
    pub temporary: &'s [&'s str],
    /// Variables of the environment whose values are known.
    pub variables: &'s [(&'s str, &'s str)],
    /// Variables that the text inherits beside these, each with its value, or none where it is not set. They hold in its
    /// shells alone, and as long as [`sets_any`](crate::Analysis::sets_any) does not.
    pub inherited: &'s [(&'s str, Option<&'s str>)],
    /// More programs that start the program in their operands.
    pub wrappers: &'s [&'s str],
    /// Follows links; none leaves paths as they are written.
    pub links: Option<&'s dyn Links>,
}

impl<'s> Surroundings<'s> {
    /// A state of this project and home, with the usual folders for temporary files.
    pub fn new(project: &'s str, home: &'s str) -> Surroundings<'s> {
        let user = home.rsplit('/').next().unwrap_or_default();
        Surroundings {
            cwd: project,
            project,
            home,
            user,
            temporary: &["/tmp", "/var/tmp"],
            variables: &[],
            inherited: &[],
            wrappers: &[],
            links: None,
        }
    }
}
