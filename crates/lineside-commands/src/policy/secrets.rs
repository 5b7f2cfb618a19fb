//! Policies over secrets and over what comes from other machines.

use super::row::{Policy, PolicyVerdict, Row, policy};
use crate::analysis::{Access, Trait};
use crate::filter::{CommandFilter, Paths};

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
    ("aws", "codeartifact get-authorization-token", "", "", ""),
    ("aws", "rds generate-db-auth-token", "", "", ""),
    ("aws", "eks get-token", "", "", ""),
    ("gcloud", "iam service-accounts keys create", "", "--help", ""),
    ("az", "ad sp create-for-rbac", "", "--help", ""),
    ("az", "storage account show-connection-string", "", "", ""),
    ("az", "** keys list", "", "", ""),
    ("az", "acr login", "--expose-token", "", ""),
    ("az", "account get-access-token", "", "", ""),
    ("az", "keyvault secret show|download", "", "", ""),
    ("az", "storage account keys list", "", "", ""),
    ("az", "acr credential show", "", "", ""),
    ("vault|bao", "kv get", "", "--help -help", ""),
    ("vault|bao", "token create|lookup", "", "-help --help", ""),
    ("vault", "print token", "", "", ""),
    ("vault|bao", "read", "", "--help -help", ""),
    ("pass|gopass|passage", "show", "", "--help", ""),
    ("pass|gopass|passage", "*/*", "", "-c --help", ""),
    ("keyring", "get", "", "", ""),
    ("kwallet-query", "", "-r", "", ""),
    ("systemctl", "show-environment", "", "", ""),
    ("ps", "", "", "--help", "*e*"),
    ("railway", "variables|variable", "", "--help --set", ""),
    ("netlify", "env:list|env:get", "", "--help", ""),
    ("infisical", "secrets|export", "", "--help", ""),
    ("chamber", "read|export|env", "", "--help", ""),
    ("terraform|tofu", "state pull|show", "", "", ""),
    ("openssl", "rsa|pkey|ec|dsa", "-in", "-pubin -pubout -noout -check", ""),
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
    ("npm|pnpm|yarn", "config get", "", "", "*uthToken *_auth *_password"),
    ("npm", "token create|list", "", "", ""),
    ("kubectl|oc", "edit|describe secret|secrets", "", "--help", ""),
    ("kubectl|oc", "get secret|secrets", "-o=json -o=yaml -o=go-template* -o=jsonpath* -o=custom-columns* --template", "--help", ""),
    ("kubectl", "view-secret", "", "--help", ""),
    ("oc", "whoami", "-t", "", ""),
    ("kubectl|oc", "get", "-o=*", "--help", "secret/* secrets/*"),
    ("kubectl", "config view", "--raw=* --raw", "", ""),
    ("kubectl", "create token", "", "", ""),
    ("heroku", "config|config:get", "", "--help", ""),
    ("heroku", "auth:token", "", "", ""),
    ("doppler", "secrets", "", "--help --only-names", ""),
    ("glab", "auth status", "-t --show-token", "", ""),
    ("stripe", "config", "--list", "", ""),
    ("bw", "list items", "", "", ""),
    ("vercel|netlify", "env pull", "", "", ""),
    ("fly|flyctl", "auth token", "", "", ""),
    ("pulumi", "config|stack", "--show-secrets", "", ""),
    ("terraform|tofu", "output", "-json -raw", "", ""),
    ("sops|ansible-vault", "decrypt|view", "", "", ""),
    ("sops|age|rage", "", "-d", "", ""),
    ("gpg|gpg2", "", "--export-secret-keys --export-secret-subkeys", "", ""),
    ("printenv", "", "", "", "*TOKEN *SECRET* *PASSWORD* *API_KEY *_KEY *CREDENTIALS*"),
    ("git", "show|cat-file", "", "--help", "*:.env *:.env.[!est]* *:*/.env *.pem *:*.key *:*/id_rsa *:*secrets.y*ml"),
    ("git", "stash show", "", "--help --stat", ".env .env.[!est]* */.env */id_rsa *.tfstate"),
    ("git", "diff|log|blame", "", "--help --stat --name-only --name-status", ".env .env.[!est]* */.env */id_rsa *.tfstate"),
];

pub(super) fn protect_secrets() -> Policy {
    let filters = vec![
        CommandFilter::Touches(Access::Read, Paths::secret()),
        CommandFilter::Touches(
            Access::Write,
            Paths::secret().not(&[
                "~/.ssh/known_hosts", "**/.envrc", "~/.kube/**", "~/.gnupg/**", "~/.ssh/authorized_keys",
            ]),
        ),
        CommandFilter::Touches(Access::Delete, Paths::secret()),
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
