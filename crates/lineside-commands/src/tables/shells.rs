//! Shells.

use super::source::Source;

#[rustfmt::skip]
pub(super) const ROWS: &[Source] = &[
    ("bash|sh|dash|ash|rbash|posh", "-c -n -s -i -l|--login -x -e -u -o|-O= -r -p -v -f -a -k -m -B -E -P -H -C --norc --noprofile --posix --rcfile|--init-file= --debugger --version --help --restricted --verbose --noediting --pretty-print", "stop apart special:shell"),
    ("ksh|mksh|zsh|yash", "-c -n -s -i -l|--login -x -e -u -o|-O= -r -p -v -f -a -k -m -B -E -P -H -C --norc --noprofile --posix --rcfile|--init-file= --version --help --verbose", "stop plus special:shell"),
    ("fish|pwsh|tcsh|csh|nu|elvish|xonsh", "-c|-Command|-command= -File= -NoProfile -EncodedCommand|-enc|-e= -l -i", "words special:foreign"),
    ("powershell|powershell.exe|pwsh.exe|cmd|cmd.exe", "-Command|-c= -File= -NoProfile -EncodedCommand|-enc|-ec|-e=", "words special:foreign"),
];
