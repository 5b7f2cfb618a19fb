//! What is usual work is not taken for more than it is, and what a pattern finds is found.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lineside_commands::Access::{Read, Write};
use lineside_commands::filter::Paths;
use lineside_commands::{Access, Analysis, CommandFilter, Shell, Surroundings, Trait, analyse};

fn state() -> Surroundings<'static> {
    Surroundings::new("/proj", "/home/dev")
}

fn analysed(command: &str) -> Analysis {
    analyse(command, Shell::Bash, &state())
}

fn is_asked(access: Access, paths: Paths, command: &str) -> bool {
    CommandFilter::Touches(access, paths).matches(&analysed(command), &state()).is_some()
}

#[test]
fn what_is_left_out_is_no_mention_and_a_mention_is_that_path_alone() {
    let guarded = || Paths::matching(&["**/.git/HEAD", "**/.git/hooks/**", "**/.env"]);
    for (command, expected) in [
        ("cloc --exclude-dir=.git .", false),
        ("cloc --exclude-dir .env .", false),
        ("ctags -R --exclude=.git .", false),
        ("ctags -R --exclude=.env .", false),
        ("codespell --skip=.git", false),
        ("codespell --skip=.env", false),
        ("some --dir=.git", false),
        ("awk -F: '/x/ {print $1}' .git/HEAD", false),
        ("awk '{print > FILENAME}' .git/HEAD", true),
        ("awk 'BEGIN {f = ARGV[1]} {print > f}' .git/HEAD", true),
        ("awk -i inplace '{print}' .git/HEAD", true),
        ("awk \"$X\" .git/HEAD", true),
        ("some --skip=x .env", true),
        ("some --file=.env", true),
        ("some --file=.git/hooks/pre-push", true),
        ("ctags -R --links=.env .", true),
    ] {
        assert_eq!(is_asked(Write, guarded(), command), expected, "{command}");
    }
}

#[test]
fn a_program_without_a_value_is_read() {
    for command in ["BASH_CMDS[x]=()", "BASH_ALIASES[x]=(); x", "cp -t", "cp", "rsync -a", "mv --"] {
        analysed(command);
    }
}

#[test]
fn a_pattern_for_every_name_finds_what_is_asked_for_by_an_ending() {
    for (command, expected) in [
        ("cat **/*", true),
        ("find . -name '*' -exec cat {} +", true),
        ("cat src/**/*.rs", false),
        ("find . -name '*.rs' -exec cat {} +", false),
    ] {
        assert_eq!(is_asked(Read, Paths::matching(&["**/*.pem"]), command), expected, "{command}");
    }
}

#[test]
fn a_pattern_is_of_secrets_where_it_names_them_and_not_for_what_could_be_called_so() {
    for (command, expected) in [
        ("cat README*", false),
        ("cat *.json package*.json src/index.*", false),
        ("grep foo *.json", false),
        ("cat dist*/x.js > /tmp/log.$$", false),
        ("cp db.sqlite3 db.sqlite3.$(date +%F)", false),
        ("cat .e*", true),
        ("cat .*", true),
        ("cat .en?", true),
        ("cat *.pem", true),
        ("cat id_rs*", true),
        ("cat ~/.ssh/*", true),
        ("cat config/cred*.json", true),
        ("cat */.env", true),
        ("cat .env.*", true),
    ] {
        assert_eq!(is_asked(Read, Paths::secret(), command), expected, "{command}");
    }
}

#[test]
fn what_is_put_beside_a_file_and_a_side_of_a_conflict_are_no_loss() {
    let does = |command: &str, one: Trait| analysed(command).traits.contains(&one);
    for (command, expected) in [
        (r#"jq . "$f" > "$f.tmp" && mv "$f.tmp" "$f""#, false),
        (r#"rm -rf "$f.tmp""#, false),
        (r#"rm -rf "$f.git""#, true),
        (r#"rm -rf "$f""#, true),
        (r#"rm -rf "$f/x""#, true),
    ] {
        assert_eq!(does(command, Trait::DeletesUnclear), expected, "{command}");
    }
    for (command, expected) in [
        ("git checkout --ours a.txt", false),
        ("git checkout --theirs .", true),
        ("git checkout a.txt", true),
    ] {
        assert_eq!(does(command, Trait::OverwritesFiles), expected, "{command}");
    }
}

#[test]
fn a_path_that_is_looked_for_lies_below_the_folder_of_the_search() {
    for (guarded, command, expected) in [
        ("~/.ssh/**", "find ~ -path '*/.ssh/*' -delete", true),
        ("~/.ssh/**", "find ~ -wholename '*/.ssh/*' -delete", true),
        ("/etc/**", "find / -path '*/etc/*' -delete", true),
        ("/etc/nginx/**", "find /etc -path '*/nginx/*' -delete", true),
        ("/var/lib/**", "find /var/lib -path '*postgres*' -delete", true),
        ("**/.git/**", "find . -path '*/.git/*' -delete", true),
        ("**/.git/**", "find . -path '*.git*' -exec rm -rf {} +", true),
        ("~/.config/lineside", "find ~/.config -path '*lineside*' -delete", true),
        ("~/.ssh/**", "find ~ -path '*/node_modules/*' -delete", false),
        ("~/.ssh/**", "find . -path '*/.ssh/*' -delete", false),
        ("**/.git/**", "find . -path '*/__pycache__*' -delete", false),
    ] {
        let paths = Paths::matching(&[guarded, guarded.trim_end_matches("/**")]);
        assert_eq!(is_asked(Access::Delete, paths, command), expected, "{command}");
    }
    for (command, expected) in [
        ("find ~ -path '*/.ssh/id_*' -exec cat {} \\;", true),
        ("find . -regex '.*/\\.env' -exec cat {} +", true),
        ("find . -path '*.rs' -exec cat {} +", false),
        ("find . -regex '.*/.*\\.rs' -exec cat {} +", false),
    ] {
        let reads = is_asked(Read, Paths::matching(&["~/.ssh/id_rsa", "/proj/.env"]), command);
        assert_eq!(reads, expected, "{command}");
    }
}
