//! Files that hold secrets, by their names.

use std::sync::LazyLock;

use crate::globs::{Globs, last_name};
use crate::path::{SIGNS, literal};
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
    "**/.my.cnf", "**/.vault-token", "**/terraform.tfstate", "**/*.tfstate", "**/*.tfstate.backup", "**/*.tfstate.*.backup", "**/*.tfvars",
    "**/secrets.{yaml,yml,json,toml,env,ini,txt,enc,properties,xml,conf}", "**/secret.{yaml,yml,json,toml,env}",
    "**/credentials.{json,yaml,yml,toml,csv,xml}", "**/service-account*.json",
    "**/serviceAccount*.json", "**/*-credentials.json", "**/*_credentials.json", "**/.htpasswd", "**/.terraformrc",
    "~/.terraform.d/credentials.tfrc.json", "/etc/shadow*", "/etc/gshadow*", "/etc/sudoers", "/etc/sudoers.d/**",
    "/proc/*/environ", "/proc/**/environ", "**/.s3cfg", "**/.boto", "~/.password-store/**",
    "~/.local/share/keyrings/**", "~/Library/Keychains/**", "~/.config/op/**", "~/.claude/.credentials.json",
    "~/.codex/auth.json", "/var/run/secrets/**", "/run/secrets/**", "**/.secrets", "**/.secrets/**", "**/master.key",
    "~/.bash_history", "~/.zsh_history", "~/.psql_history", "~/.mysql_history", "~/.rediscli_history",
    "~/.config/github-copilot/hosts.json", "~/.config/github-copilot/apps.json", "~/.config/rclone/rclone.conf", "**/*.pem", "~/.config/sops/**",
    "**/.vault_pass*", "~/.config/doctl/config.yaml", "~/.fly/config.yml", "~/.oci/**", "~/.aliyun/config.json",
    "~/.config/heroku/**", "~/.config/netlify/config.json", "~/.vercel/auth.json", "~/.composer/auth.json",
    "~/.m2/settings.xml", "~/.m2/settings-security.xml", "~/.gradle/gradle.properties", "~/.config/pypoetry/auth.toml",
    "~/.huggingface/token", "~/.cache/huggingface/token", "~/.gemini/oauth_creds.json", "**/*service_account*.json",
    "**/*firebase-adminsdk*.json", "**/wp-config.php", "**/.dev.vars", "**/*.ovpn", "**/ssh_host_*_key",
    "/etc/ssl/private/**", "**/*.keytab", "~/.mozilla/firefox/**/logins.json", "~/.mozilla/firefox/**/key4.db",
    "~/.config/google-chrome/**/Login Data", "~/.config/google-chrome/**/Cookies", "**/id_*_sk", "~/.yarnrc.yml",
    "~/.config/containers/auth.json", "~/.local/share/opencode/auth.json", "~/.terraformrc",
    "/etc/wireguard/**", "**/local.settings.json", "**/gcp-key*.json", "**/client_secret*.json", "**/kubeconfig.yaml",
    "**/.kube/config", "/etc/kubernetes/admin.conf", "/etc/rancher/k3s/k3s.yaml", "**/.secret", "**/password.txt",
    "**/passwords.txt",
];

/// Those of their names that hold none.
#[rustfmt::skip]
const HARMLESS: &[&str] = &[
    "**/*.example", "**/*.sample", "**/*.template", "**/*.dist", "**/*.defaults", "**/.env.example.*", "**/.env.test", "**/.env.testing", "**/.env.ci", "**/*.d.ts",
    "**/.env.test.example", "**/example.env", "**/sample.env", "**/*.pub", "**/known_hosts",
    "**/*cert*.pem", "**/*ca*.pem", "**/*chain*.pem", "**/*pub*.pem", "**/*.tfvars.example", "**/.env.schema", "**/.env.tpl", "**/env.ts", "~/.kube/cache/**",
];

/// Whether a file of this path holds secrets. Of a pattern all that fit it have to, or a usual name has to that begins as it does:
/// `*.pem` and `.e*` are of secrets, and `README*` is not for the sake of a `README.pem`.
pub(crate) fn is_secret(path: &str, home: &str) -> bool {
    static LISTS: LazyLock<[Globs; 3]> = LazyLock::new(|| {
        let named = SECRETS.iter().copied().filter(|secret| !last_name(secret).contains(SIGNS));
        [SECRETS.iter().copied().collect(), named.collect(), HARMLESS.iter().copied().collect()]
    });
    let mut state = Surroundings::new("/", home);
    state.project = "";
    let [secrets, named, harmless] = &*LISTS;
    let plain = literal(path);
    // `*.env*` of a search for `.env`.
    let within = || {
        let name = last_name(path).strip_prefix('*')?;
        let is_long = name.starts_with('.') && name.trim_end_matches('*').len() > 3;
        is_long.then(|| named.fit(&format!("/{name}"), &state))
    };
    let is_named = || {
        let begins = last_name(path).split(SIGNS).next().unwrap_or_default();
        (begins.len() >= 2 || begins == ".") && named.fit(path, &state) || within() == Some(true)
    };
    // Of a path that is no pattern, the whole list says all.
    (secrets.fit(&plain, &state) || path.contains(SIGNS) && is_named()) && !harmless.fit(&plain, &state)
}
