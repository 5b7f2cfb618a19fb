//! Policies over secrets and over what comes from other machines.

use super::row::{Policy, PolicyVerdict, Row, policy};
use crate::analysis::{Access, Trait};
use crate::filter::{CommandFilter, Paths, glob_fits};
use crate::state::Surroundings;

/// Files that hold secrets.
#[rustfmt::skip]
const SECRETS: &[&str] = &[
    "**/.env", "**/.env.*", "**/.envrc", "**/*.env", "**/id_rsa", "**/id_dsa", "**/id_ecdsa", "**/id_ed25519",
    "**/id_rsa.*", "**/id_ed25519.*", "**/*.key", "**/*_key.pem", "**/*-key.pem", "**/key.pem", "**/privkey*.pem",
    "**/private*.pem", "**/*.p12", "**/*.pfx", "**/*.jks", "**/*.keystore", "**/*.kdbx", "**/*.ppk", "~/.ssh/**",
    concat!("/root", "/.ssh/**"), "~/.aws/**", "**/.aws/credentials", "~/.gnupg/**", "**/.netrc", "**/_netrc", "**/.npmrc",
    "**/.pypirc", "~/.cargo/credentials*", "~/.gem/credentials", "**/.git-credentials", "~/.config/git/credentials",
    "~/.kube/**", "**/kubeconfig", "~/.docker/config.json", "**/.dockercfg", "~/.config/gh/hosts.yml",
    "~/.config/glab-cli/**", "~/.config/hub", "~/.config/gcloud/**", "~/.azure/**", "~/.pgpass", "**/.pgpass",
    "**/.my.cnf", "**/.vault-token", "**/*.tfstate", "**/*.tfstate.backup", "**/*.tfvars",
    "**/secrets.{yaml,yml,json,toml,env,ini,txt,enc,properties,xml,conf}", "**/secret.{yaml,yml,json,toml,env}",
    "**/credentials.{json,yaml,yml,toml,csv,xml}", "**/service-account*.json", "**/.htpasswd", "**/.terraformrc",
    "~/.terraform.d/credentials.tfrc.json", "/etc/shadow*", "/etc/gshadow*", "/etc/sudoers", "/etc/sudoers.d/**",
    "/proc/*/environ", "/proc/**/environ", "**/.s3cfg", "**/.boto", "~/.password-store/**",
    "~/.local/share/keyrings/**", "~/Library/Keychains/**", "~/.config/op/**", "~/.claude/.credentials.json",
    "~/.codex/auth.json", "/var/run/secrets/**", "/run/secrets/**", "**/.secrets", "**/.secrets/**", "**/master.key",
    "~/.bash_history", "~/.zsh_history", "~/.config/rclone/rclone.conf",
];

/// Those of their names that hold none.
#[rustfmt::skip]
const HARMLESS: &[&str] = &[
    "**/*.example", "**/*.sample", "**/*.template", "**/*.dist", "**/*.defaults", "**/.env.example.*",
    "**/.env.test.example", "**/example.env", "**/sample.env", "**/*.pub", "**/known_hosts", "~/.ssh/config",
    "~/.aws/config", "**/*.tfvars.example", "**/.env.schema", "**/.env.tpl", "**/env.ts", "~/.kube/cache/**",
];

/// Whether a file of this path holds secrets.
pub(crate) fn is_secret(path: &str, home: &str) -> bool {
    let mut state = Surroundings::new("/", home);
    state.project = "";
    let literal = path.replace(['*', '?', '['], "\u{1}");
    SECRETS.iter().any(|glob| glob_fits(glob, path, &state))
        && !HARMLESS.iter().any(|glob| glob_fits(glob, &literal, &state))
}

#[rustfmt::skip]
const PRINTS: &[Row] = &[
    ("gh", "auth token", "", "--help", ""),
    ("gh", "auth status", "-t", "--help", ""),
    ("gcloud", "auth print-access-token|print-identity-token", "", "--help", ""),
    ("gcloud", "auth application-default print-access-token", "", "", ""),
    ("gcloud", "secrets versions access", "", "", ""),
    ("aws", "secretsmanager get-secret-value|batch-get-secret-value", "", "help", ""),
    ("aws", "ssm get-parameter|get-parameters|get-parameters-by-path", "--with-decryption", "", ""),
    ("aws", "sts get-session-token|assume-role|get-federation-token", "", "", ""),
    ("aws", "ecr get-login-password", "", "", ""),
    ("aws", "iam create-access-key", "", "", ""),
    ("aws", "configure get", "", "", "*secret* *token* *access_key*"),
    ("aws", "configure export-credentials", "", "", ""),
    ("aws", "kms decrypt", "", "", ""),
    ("az", "account get-access-token", "", "", ""),
    ("az", "keyvault secret show|download", "", "", ""),
    ("az", "storage account keys list", "", "", ""),
    ("az", "acr credential show", "", "", ""),
    ("vault|bao", "kv get", "", "--help -help", ""),
    ("vault|bao", "read", "", "--help -help", ""),
    ("pass|gopass|passage", "show", "", "--help", ""),
    ("op", "read", "", "--help", ""),
    ("op", "item get", "", "--help", ""),
    ("op", "document get", "", "--help", ""),
    ("bw", "get password|item|notes|totp", "", "--help", ""),
    ("bw|keepassxc-cli", "export", "", "--help", ""),
    ("lpass|keepassxc-cli", "show", "", "--help", ""),
    ("rbw", "get", "", "--help", ""),
    ("security", "find-generic-password|find-internet-password", "-w -g", "", ""),
    ("security", "dump-keychain|export", "", "", ""),
    ("secret-tool", "lookup|search", "", "", ""),
    ("git", "credential fill", "", "", ""),
    ("git", "credential-store|credential-cache|credential-osxkeychain|credential-manager get", "", "", ""),
    ("docker-credential-desktop|docker-credential-pass|docker-credential-osxkeychain|docker-credential-secretservice", "get|list", "", "", ""),
    ("npm|pnpm|yarn", "config get", "", "", "*_authToken *_auth *_password"),
    ("npm", "token create|list", "", "", ""),
    ("kubectl|oc", "get|describe|edit secret|secrets", "", "--help", ""),
    ("kubectl|oc", "get", "-o=*", "--help", "secret/* secrets/*"),
    ("kubectl", "config view", "--raw=* --raw", "", ""),
    ("kubectl", "create token", "", "", ""),
    ("heroku", "config|config:get", "", "--help", ""),
    ("heroku", "auth:token", "", "", ""),
    ("doppler", "secrets", "", "--help --only-names", ""),
    ("vercel|netlify", "env pull", "", "", ""),
    ("fly|flyctl", "auth token", "", "", ""),
    ("pulumi", "config|stack", "--show-secrets", "", ""),
    ("terraform|tofu", "output", "-json -raw", "", ""),
    ("sops|ansible-vault", "decrypt|view", "", "", ""),
    ("sops|age|rage", "", "-d", "", ""),
    ("gpg|gpg2", "", "--export-secret-keys --export-secret-subkeys", "", ""),
    ("printenv", "", "", "", "*TOKEN *SECRET* *PASSWORD* *API_KEY *_KEY *CREDENTIALS*"),
    ("git", "show|cat-file", "", "--help", "*:.env *:.env.[!est]* *:*/.env *.pem *:*.key *:*/id_rsa *:*secrets.y*ml"),
    ("git", "diff|log|blame", "", "--help --stat --name-only --name-status", ".env .env.[!est]* */.env */id_rsa *.tfstate"),
];

pub(super) fn protect_secrets() -> Policy {
    let touches = |access| CommandFilter::Touches(access, Paths::matching(SECRETS).not(HARMLESS));
    let filters = vec![
        touches(Access::Read),
        CommandFilter::Touches(
            Access::Write,
            Paths::matching(SECRETS).not(
                &[
                    HARMLESS,
                    &[
                        "~/.ssh/known_hosts", "**/.envrc", "~/.kube/**", "~/.gnupg/**",
                        "~/.ssh/authorized_keys",
                    ],
                ]
                .concat(),
            ),
        ),
        touches(Access::Delete),
        CommandFilter::Does(Trait::ShowsEnvironment),
    ];
    let reason = "secrets would be shown, copied or lost; ask a person for what is needed of them";
    policy("protect-secrets", PolicyVerdict::Block, reason, PRINTS, filters)
}

pub(super) fn no_exfiltration() -> Policy {
    let reason = "a secret would be sent to another machine; send data without it";
    policy(
        "no-exfiltration",
        PolicyVerdict::Block,
        reason,
        &[],
        vec![CommandFilter::Does(Trait::SendsSecret)],
    )
}

pub(super) fn no_remote_code() -> Policy {
    let reason = "what another machine sends would be run unread; save it to a file and read it first";
    policy("no-remote-code", PolicyVerdict::Ask, reason, &[], vec![CommandFilter::Does(Trait::RunsFetched)])
}
