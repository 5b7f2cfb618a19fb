//! Policies over files, rights and the system.

use super::row::{Policy, PolicyVerdict, Row, policy};
use crate::analysis::{Access, Trait, Unknown};
use crate::filter::{CommandFilter, Paths};

/// What belongs to the system.
#[rustfmt::skip]
const SYSTEM: &[&str] = &[
    "/bin/**", "/boot/**", "/dev/**", "/etc/**", "/lib/**", "/lib32/**", "/lib64/**", "/opt/**", "/proc/**",
    concat!("/root", "/**"), "/run/**", "/sbin/**", "/srv/**", "/sys/**", "/usr/**", "/var/**", "/System/**", "/Library/**",
    "/Applications/**",
];

/// What of it belongs to any account.
#[rustfmt::skip]
const TEMPORARY: &[&str] = &[
    "/var/tmp/**", "/run/user/**", "/dev/null", "/dev/shm/**", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/tty*",
    "/dev/fd/**", "/var/folders/**", "/dev/pts/**", "/dev/tcp/**",
];

#[rustfmt::skip]
const DISKS: &[&str] = &[
    "/dev/sd*", "/dev/hd*", "/dev/vd*", "/dev/xvd*", "/dev/nvme*", "/dev/mmcblk*", "/dev/disk*", "/dev/rdisk*",
    "/dev/disk/**", "/dev/mapper/**", "/dev/md*", "/dev/dm-*", "/dev/loop*", "/dev/mem", "/dev/kmem", "/dev/port",
];

#[rustfmt::skip]
const DESTROYS: &[Row] = &[
    ("shred|srm|wipe", "", "", "--help --version", ""),
    ("mkfs|mkfs.ext4|mkfs.ext3|mkfs.ext2|mkfs.xfs|mkfs.btrfs|mkfs.vfat|mkfs.fat|mkfs.ntfs|mkfs.f2fs|mke2fs|mkswap|newfs", "", "", "--help --version -n", ""),
    ("wipefs", "", "-a -o", "-n --help", ""),
    ("blkdiscard|pvremove|vgremove|lvremove", "", "", "--help --test -t", ""),
    ("sgdisk", "", "-Z -o", "--help -p", ""),
    ("cryptsetup", "luksFormat|erase|luksErase", "", "--help", ""),
    ("zpool|zfs", "destroy", "", "-n --help", ""),
    ("btrfs", "subvolume delete", "", "--help", ""),
    ("diskutil", "eraseDisk|eraseVolume|partitionDisk|secureErase|zeroDisk|apfs", "", "", ""),
    ("diskutil", "", "", "", "eraseDisk eraseVolume partitionDisk secureErase zeroDisk reformat"),
    ("hdparm", "", "--security-erase --security-erase-enhanced", "", ""),
    ("mdadm", "", "--zero-superblock", "", ""),
    ("nvme", "format|sanitize", "", "", ""),
    ("kill", "", "", "-l -L", "-1 0"),
    ("kill", "", "-1", "-l", "-1"),
    ("fdisk|gdisk|cfdisk|parted|sfdisk", "", "", "-l --help -p --version --dump -d", "/dev/*"),
    ("format", "", "", "", "?:"),
];

pub(super) fn no_destructive_shell() -> Policy {
    let roots = || Paths::roots(&["/", "~", "."]);
    let filters = vec![
        CommandFilter::Touches(Access::Delete, roots()),
        CommandFilter::Touches(Access::Delete, Paths::matching(SYSTEM).not(TEMPORARY)),
        CommandFilter::Touches(
            Access::Delete,
            Paths::matching(&["**/.git", "**/.git/**"]).not(&["**/.git/*.lock", "**/.git/**/*.lock"]),
        ),
        CommandFilter::Does(Trait::DeletesUnclear),
        CommandFilter::Touches(Access::Write, Paths::matching(DISKS)),
        CommandFilter::All(vec![
            CommandFilter::Runs(
                vec![
                    crate::filter::runs(["chmod", "chown", "chgrp", "setfacl", "chattr", "chcon"])
                        .any_flag(&["-R"]),
                ]
                .into(),
            ),
            CommandFilter::Any(vec![
                CommandFilter::Touches(Access::Write, Paths::roots(&["/", "~"]).whole(true)),
                CommandFilter::Touches(Access::Write, Paths::matching(SYSTEM).not(TEMPORARY).whole(true)),
            ]),
        ]),
        CommandFilter::Runs(
            vec![
                crate::filter::runs(["kill"]).flags(&["-1"]).no_flag(&["-l"]).operand(&["-1"]),
                crate::filter::runs(["kill"])
                    .any_flag(&["-9", "-15", "-KILL", "-s", "-K", "-T"])
                    .flags(&["-1"]),
            ]
            .into(),
        ),
        CommandFilter::Does(Trait::RunsAway),
    ];
    let reason = "files that are not of this task would be lost; delete them one by one by their names";
    policy("no-destructive-shell", PolicyVerdict::Block, reason, DESTROYS, filters)
}

pub(super) fn stay_in_project() -> Policy {
    let filters = vec![
        CommandFilter::Touches(Access::Delete, Paths::outside()),
        CommandFilter::Touches(Access::Write, Paths::outside()),
    ];
    let reason = "files outside of the project would change; work on a copy within it";
    policy("stay-in-project", PolicyVerdict::Ask, reason, &[], filters)
}

#[rustfmt::skip]
const RIGHTS: &[Row] = &[
    ("sudo", "", "", "--help -V --version -l -k -K -v", ""),
    ("sudo", "", "-s -i -l -v", "--help", ""),
    ("doas|su|pkexec|runuser|run0|gosu|su-exec|sudoedit", "", "", "--help --version -V", ""),
    ("docker|podman|nerdctl|docker-compose", "** run|exec|create", "--privileged", "--help", ""),
    ("docker|podman|nerdctl", "run|create", "-v=/:* --mount=*source=/,* --mount=*src=/,* -v=/var/run/docker.sock:* -v=/run/docker.sock:* --pid=host --cap-add=ALL --cap-add=SYS_ADMIN --userns=host --device=/dev/sd* -v=/etc:* -v=/root:* --mount=*source=/ --mount=*src=/ --ipc=host --security-opt=*unconfined", "--help", ""),
    ("docker|podman", "container run", "--privileged -v=/:*", "--help", ""),
    ("setcap", "", "", "-r -v --help", ""),
    ("machinectl", "shell", "", "--help", ""),
    ("runas|gsudo", "", "", "--help", ""),
    ("chmod", "", "", "--help", "*+*s* *=*s* 4[0-7][0-7][0-7] 2[0-7][0-7][0-7] 6[0-7][0-7][0-7] 0[246][0-7][0-7][0-7]"),
    ("install", "", "-m=4??? -m=2??? -m=6??? -m=u+s", "", ""),
    ("nsenter", "", "-t=1", "", ""),
    ("usermod|gpasswd|adduser", "", "-G=*sudo* -G=*wheel* -G=*docker* -G=*root* -a=*", "", ""),
];

pub(super) fn no_privilege_escalation() -> Policy {
    let reason = "it would run with the rights of another account; run it without, or ask a person to";
    policy("no-privilege-escalation", PolicyVerdict::Ask, reason, RIGHTS, Vec::new())
}

#[rustfmt::skip]
const CHANGES: &[Row] = &[
    ("systemctl|rc-update|update-rc.d|chkconfig", "start|stop|restart|reload|enable|disable|mask|unmask|kill|isolate|reboot|poweroff|halt|suspend|hibernate|daemon-reload|daemon-reexec|edit|set-default|set-property|rescue|emergency|default|try-restart|reload-or-restart|link|revert|preset|preset-all|kexec|soft-reboot|switch-root|set-environment", "", "--help", ""),
    ("service|rc-service|sv|initctl|supervisorctl|s6-rc", "", "", "--help --status-all", "start stop restart reload force-reload force-stop shutdown up down"),
    ("launchctl", "", "", "", "bootout bootstrap load unload remove kickstart disable enable stop start kill submit setenv reboot config"),
    ("loginctl|machinectl", "", "", "", "terminate-session terminate-user kill-session kill-user poweroff reboot lock-sessions"),
    ("timedatectl|hostnamectl|localectl", "", "", "", "set-* "),
    ("networkctl|nmcli|resolvectl|firewall-cmd|rfkill", "", "", "--state --list-all --get-active-zones --help", "down up delete disconnect off modify reload block flush-caches revert connect add"),
    ("dmesg", "", "-C -c -D -E -n", "--help", ""),
    ("journalctl", "", "--vacuum-size --vacuum-time --vacuum-files --rotate --flush", "--help", ""),
    ("brew", "services start|stop|restart|run|kill", "", "--help", ""),
    ("snap", "start|stop|restart|enable|disable", "", "--help", ""),
    ("invoke-rc.d|grubby|grub-set-default|update-ca-certificates|update-ca-trust|pam-auth-update|rtcwake|pm-suspend|pm-hibernate|iptables-restore|ip6tables-restore|resolvconf|dseditgroup|groupmems", "", "", "--help --version --test", ""),
    ("dkms|semodule|systemd-tmpfiles|logrotate|tuned-adm|fail2ban-client", "", "-i -r --create --remove --clean -f", "--help", ""),
    ("wg|tailscale|iw|cpupower", "", "", "--help", "set up down logout add del frequency-set setconf"),
    ("ethtool", "", "-s -K -G -A -C", "", ""),
    ("firewall-cmd", "", "--add-port --remove-port --add-service --remove-service --reload --panic-on --permanent --add-rich-rule --zone", "", ""),
    ("reboot|shutdown|poweroff|halt|telinit|kexec", "", "", "--help --version -l --show", ""),
    ("init", "", "", "--help", "[0-6sS]"),
    ("pkill|killall|xkill|skill|killall5", "", "", "--help -l --version -V", ""),
    ("fuser", "", "-k", "", ""),
    ("useradd|adduser|usermod|userdel|deluser|groupadd|groupdel|groupmod|gpasswd|passwd|chpasswd|chsh|chfn|vipw|visudo|newusers|sysadminctl|chage|addgroup|delgroup", "", "", "--help -S --status -l --version -h", ""),
    ("dscl", "", "", "", "-create -delete -append -passwd"),
    ("mount", "", "-o -t -B --bind -a -M --move --make-private -r -L -U", "-h --help -l", ""),
    ("mount", "", "", "-l -h --help -V", "?*"),
    ("umount|swapoff|swapon|losetup|fusermount|mount.cifs|sshfs", "", "", "--help -h --show -V --list -s", ""),
    ("zfs|zpool|btrfs|exportfs|dmsetup|lvresize|lvextend|vgextend|partprobe", "", "", "-h --help", "set create add attach detach import export replace online offline mount unmount remove"),
    ("iptables|ip6tables|arptables|ebtables", "", "-A -D -I -F -X -P -N -R -Z -E", "", ""),
    ("nft", "", "", "", "add delete flush insert replace destroy create reset"),
    ("ufw", "", "", "--dry-run", "enable disable allow deny reject limit delete reset reload default route"),
    ("pfctl", "", "-f -F -e -d -a", "", ""),
    ("ipset|ipfw", "", "", "", "create destroy flush add del delete -F -X"),
    ("tc", "", "", "", "add del delete replace change"),
    ("ip", "", "", "", "add del delete set flush replace change append"),
    ("ifconfig", "", "", "", "up down [0-9]*.[0-9]*.* mtu hw"),
    ("route", "", "", "", "add del delete flush change"),
    ("ifup|ifdown|wg-quick|openvpn|brctl", "", "", "--help show", ""),
    ("sysctl", "", "-w -p --system", "", ""),
    ("sysctl", "", "", "", "*=*"),
    ("modprobe|insmod|rmmod|depmod", "", "", "--help -n --show-depends --dry-run -V -c", ""),
    ("update-initramfs|update-grub|grub-install|grub-mkconfig|dracut|mkinitcpio|grub2-mkconfig|grub2-install|bootctl", "", "", "--help --version", ""),
    ("efibootmgr", "", "-B -c -o -n -b -a -A", "", ""),
    ("setenforce|aa-disable|aa-complain|aa-teardown|setsebool|auditctl|semanage|apparmor_parser", "", "", "--help -l -s", ""),
    ("crontab", "", "-r -e", "--help", ""),
    ("crontab", "", "", "-l -V --help", "?*"),
    ("at|batch", "", "", "-l -V --help", ""),
    ("atrm|atd|anacron", "", "", "", ""),
    ("date", "", "-s", "", ""),
    ("hwclock", "", "-w -s --systohc --hctosys --set", "", ""),
    ("hostname|domainname", "", "", "-f -i -I -s -d -a -A --help --fqdn", "?*"),
    ("update-alternatives|alternatives", "", "--install --remove --set --config --remove-all --auto", "", ""),
    ("ldconfig", "", "", "-p -v --help -N", ""),
    ("defaults", "", "", "", "write delete"),
    ("nvram|csrutil|spctl|systemsetup|scutil|pmset|tmutil|networksetup|softwareupdate", "", "", "-p -g --status -l --list status", "disable enable delete* -set* -c --master-disable -a -i -d"),
    ("swapon|swapoff", "", "-a", "", ""),
    ("dpkg-reconfigure|locale-gen|debconf-set-selections", "", "", "--help", ""),
];

pub(super) fn no_system_changes() -> Policy {
    let system = || Paths::matching(SYSTEM).not(&[TEMPORARY, DISKS].concat());
    let filters = vec![
        CommandFilter::Touches(Access::Write, system()),
        CommandFilter::All(vec![
            CommandFilter::Touches(Access::Delete, system()),
            CommandFilter::Not(Box::new(CommandFilter::Touches(Access::Delete, system().whole(true)))),
        ]),
        CommandFilter::All(vec![
            CommandFilter::Touches(Access::Write, Paths::roots(&["/"])),
            CommandFilter::Runs(
                vec![crate::filter::runs(["tar", "unzip", "rsync", "cp", "cpio", "install", "mv", "7z"])]
                    .into(),
            ),
        ]),
    ];
    let reason = "the machine would change for all who use it; say what is needed and let a person do it";
    policy("no-system-changes", PolicyVerdict::Ask, reason, CHANGES, filters)
}

/// What guards an agent, or starts programs with a session.
#[rustfmt::skip]
const GUARDS: &[&str] = &[
    "**/.claude/settings*.json", "**/.claude/hooks/**", "**/.claude/hooks", "**/.claude", "~/.claude.json",
    "**/.claude/agents/**", "**/.codex/**", "**/.codex", "**/.gemini/settings.json", "**/.gemini",
    "**/.gemini/hooks/**", "**/.cursor/hooks.json", "**/.cursor/hooks/**", "**/.cursor/cli.json", "**/.cursor",
    "**/.github/hooks/**", "**/.copilot/**", "**/.opencode/**", "**/opencode.json", "**/.config/opencode/**",
    "**/.kimi/**", "**/.qwen/settings.json", "**/.windsurf/hooks*", "**/.cline/**", "**/.amp/settings.json",
    "**/.mcp.json", "**/.factory/hooks/**", "**/.factory/settings.json", "**/.lineside", "**/.lineside/**",
    "~/.config/lineside", "~/.config/lineside/**", "~/.local/state/lineside/**", "**/hooks.yaml", "**/.git/hooks",
    "**/.git/hooks/**", "**/.husky", "**/.husky/**", "**/.git/config", "**/.githooks/**", "~/.gitconfig",
    "**/.pre-commit-config.yaml", "**/lefthook.yml", "~/.bashrc", "~/.bash_profile", "~/.bash_login",
    "~/.bash_logout", "~/.bash_aliases", "~/.profile", "~/.zshrc", "~/.zshenv", "~/.zprofile", "~/.zlogin",
    "~/.config/fish/**", "~/.xprofile", "~/.xinitrc", "~/.inputrc", "/etc/profile", "/etc/profile.d/**",
    "/etc/bash.bashrc", "/etc/zsh/**", "/etc/environment", "**/.ssh/authorized_keys*", "~/.ssh/config", "~/.ssh/rc",
    "~/.config/systemd/user", "~/.config/systemd/user/**", "~/.config/autostart/**", "~/.config/environment.d/**",
    "~/Library/LaunchAgents/**", "/Library/LaunchDaemons/**", "/etc/systemd/system/**", "/etc/cron*/**",
    "/etc/crontab", "/etc/cron.d/**", "/var/spool/cron/**", "/etc/sudoers", "/etc/sudoers.d/**", "/etc/ld.so.preload",
    "/etc/pam.d/**",
];

#[rustfmt::skip]
const UNGUARDED: &[Row] = &[
    ("claude", "", "--dangerously-skip-permissions --allow-dangerously-skip-permissions --permission-mode=bypassPermissions --permission-mode=dontAsk", "--help --version", ""),
    ("codex", "", "--yolo --dangerously-bypass-approvals-and-sandbox -s=danger-full-access --sandbox=danger-full-access -a=never --ask-for-approval=never -c=approval_policy=*never* -c=sandbox_mode=*danger* --dangerously-bypass-hook-trust", "--help", ""),
    ("claude", "config set|add|remove", "", "--help", ""),
    ("gemini|qwen", "", "-y --yolo --approval-mode=yolo", "--help", ""),
    ("aider", "", "--yes-always --yes", "--help", ""),
    ("cursor-agent|copilot|amp|goose|kimi|crush|opencode|q|droid|auggie", "", "-f --force --yolo --allow-all-tools --allow-all --dangerously-allow-all --trust-all-tools --skip-permissions-unsafe -y --auto-approve", "--help", ""),
    ("lineside", "uninstall|off|trust|stop", "", "--help", ""),
    ("crontab", "", "", "-l -r -e --help", "?*"),
    ("git", "config", "", "--get --list -l --help", "core.fsmonitor core.sshCommand core.pager core.editor alias.* credential.helper"),
    ("pkill|killall", "", "", "", "lineside* *lineside"),
];

pub(super) fn protect_guards() -> Policy {
    let filters = vec![
        CommandFilter::Touches(Access::Write, Paths::matching(GUARDS).not(&["**/.claude", "**/.git/config"])),
        CommandFilter::Touches(Access::Delete, Paths::matching(GUARDS)),
    ];
    let reason =
        "what guards this session or starts with the next would change; propose the change to a person";
    policy("protect-guards", PolicyVerdict::Block, reason, UNGUARDED, filters)
}

pub(super) fn legible_commands() -> Policy {
    let filters = vec![CommandFilter::Unclear(Unknown::Program), CommandFilter::Does(Trait::RunsDecoded)];
    let reason = "what would run cannot be told from the command; write the programs and their words out";
    policy("legible-commands", PolicyVerdict::Ask, reason, &[], filters)
}
