//! Policies over version control.

use super::row::{Policy, PolicyVerdict, Row, policy};
use crate::analysis::Access;
use crate::filter::{CommandFilter, Paths};

#[rustfmt::skip]
const LOSES: &[Row] = &[
    ("git|hub", "reset", "--hard", "--help -h", ""),
    ("git|hub", "checkout", "-f", "--help", ""),
    ("git|hub", "switch", "-f --discard-changes", "--help", ""),
    ("git|hub", "restore", "-W", "--help -p", ""),
    ("git|hub", "restore", "", "-S --help -p", ""),
    ("git|hub", "clean", "-f", "-n --help", ""),
    ("git|hub", "stash drop|clear", "", "--help", ""),
    ("git|hub", "branch", "-D", "--help", ""),
    ("git|hub", "worktree remove", "-f", "--help", ""),
    ("git|hub", "reflog expire|delete", "", "-n --dry-run --help", ""),
    ("git|hub", "gc", "--prune=now --prune=all", "--help", ""),
    ("git|hub", "prune", "", "-n --help", ""),
    ("git|hub", "filter-branch|filter-repo", "", "--help --analyze --dry-run", ""),
    ("git|hub", "update-ref", "-d", "--help", ""),
    ("git|hub", "read-tree", "--reset", "-n --help", ""),
    ("git|hub", "rm", "-f", "--cached -n --help", ""),
    ("git|hub", "submodule deinit", "-f", "--help", ""),
    ("bfg|git-filter-repo", "", "", "--help", ""),
    ("svn", "revert", "", "--help", ""),
    ("hg", "update|up|checkout", "-C --clean", "--help", ""),
    ("hg", "revert|purge|strip", "", "--help -n", ""),
];

pub(super) fn git_safety() -> Policy {
    let runs = |row: crate::filter::RunsFilter| CommandFilter::Runs(vec![row].into());
    let git = || crate::filter::runs(["git", "hub"]);
    let filters = vec![
        // `-d` of a branch asks whether it is merged; with `-f` it does not.
        runs(git().subcommand("branch").flags(&["-d", "-f"])),
        // Without the setting `clean` does nothing unless it is forced.
        runs(git().subcommand("clean").flags(&["-c=clean.requireForce=false"]).no_flag(&["-n", "-i"])),
        CommandFilter::All(vec![
            runs(git().subcommand("checkout").no_flag(&["-p", "-b", "-B", "--orphan", "--help"])),
            CommandFilter::Does(crate::Trait::OverwritesFiles),
        ]),
    ];
    let reason = "work that is not committed, or history, would be lost; `git stash` keeps it";
    policy("git-safety", PolicyVerdict::Block, reason, LOSES, filters)
}

#[rustfmt::skip]
const FORCES: &[Row] = &[
    ("git|hub", "push", "-f --mirror --prune -d", "-n --help", ""),
    ("git|hub", "push", "", "-n --help", "+* :*"),
    ("git", "send-pack|http-push", "", "-n --dry-run", "+* :*"),
    ("git", "send-pack|http-push", "-f --force --mirror", "-n --dry-run", ""),
    ("gh|glab", "repo sync", "--force", "--help", ""),
];

pub(super) fn no_force_push() -> Policy {
    let reason = "commits of others would be lost from the remote; `git push --force-with-lease` refuses to";
    policy("no-force-push", PolicyVerdict::Block, reason, FORCES, Vec::new())
}

#[rustfmt::skip]
const BYPASSES: &[Row] = &[
    ("git|hub", "commit|merge|push|rebase|am|cherry-pick|pull", "--no-verify", "--help", ""),
    ("git|hub", "commit", "-n", "--help", ""),
    ("git|hub", "", "-c=core.hooksPath=* -c=core.hookspath=* -c=core.HooksPath=* --config-env=core.hooksPath=*", "", ""),
    ("git|hub", "config", "", "--get --get-all --list -l --help", "core.hooksPath core.hookspath"),
    ("pre-commit|lefthook|husky", "uninstall", "", "--help", ""),
];

pub(super) fn no_hook_bypass() -> Policy {
    let filters = vec![
        CommandFilter::Sets(
            [
                "HUSKY=0",
                "SKIP=?*",
                "HUSKY_SKIP_HOOKS=1",
                "HUSKY_SKIP_HOOKS=true",
                "LEFTHOOK=0",
                "LEFTHOOK=false",
                "LEFTHOOK_EXCLUDE=?*",
                "PRE_COMMIT_ALLOW_NO_CONFIG=1",
                "OVERCOMMIT_DISABLE=1",
                "GIT_CONFIG_KEY_*=core.hooksPath",
                "GIT_CONFIG_KEY_*=core.hookspath",
                "GIT_CONFIG_PARAMETERS=*hooks*",
            ]
            .map(str::to_owned)
            .to_vec(),
        ),
        CommandFilter::Touches(
            Access::Delete,
            Paths::matching(&[
                "**/.git/hooks/**", "**/.husky/**", "**/.githooks/**", "**/lefthook.yml",
                "**/.pre-commit-config.yaml",
            ]),
        ),
        CommandFilter::All(vec![
            CommandFilter::Runs(
                vec![
                    crate::filter::runs(["chmod"])
                        .operand(&["*-x", "*-rwx", "000", "0*[0246]*", "[0246][0246][0246]"]),
                ]
                .into(),
            ),
            CommandFilter::Touches(
                Access::Write,
                Paths::matching(&["**/.git/hooks/**", "**/.husky/**", "**/.githooks/**"]),
            ),
        ]),
    ];
    let reason = "the checks of the repository would not run; mend what they report, then commit";
    policy("no-hook-bypass", PolicyVerdict::Block, reason, BYPASSES, filters)
}
