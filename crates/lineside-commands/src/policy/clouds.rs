//! Policies over packages, databases and infrastructure.

use super::row::{Policy, PolicyVerdict, Row, policy};
use crate::analysis::Trait;
use crate::filter::CommandFilter;

#[rustfmt::skip]
const PACKAGES: &[Row] = &[
    ("npm|pnpm|yarn|bun|cnpm", "install|i|add|uninstall|remove|update|link|ci", "-g", "--help", ""),
    ("yarn", "global add|remove|upgrade", "", "--help", ""),
    ("npm|pnpm|yarn|bun|lerna", "publish|unpublish|deprecate", "", "--dry-run --help", ""),
    ("yarn", "npm publish|tag", "", "--dry-run --help", ""),
    ("npm|pnpm", "dist-tag|owner|access|team add|rm|remove|grant|revoke|set|public|restricted", "", "--help", ""),
    ("npm|pnpm|yarn", "config set", "", "--help", "registry registry=* *:registry* npmRegistryServer"),
    ("npm|pnpm|yarn|bun", "install|i|add|ci", "--registry", "--help", ""),
    ("pip|pip3|uv", "install", "-i --extra-index-url --index-url --break-system-packages --system -f", "--help --dry-run", ""),
    ("uv", "pip install", "-i --extra-index-url --index-url --break-system-packages --system --default-index --index", "--help", ""),
    ("pip|pip3", "config set", "", "", "*index-url*"),
    ("pipx", "install|uninstall|upgrade|inject|upgrade-all", "", "--help", ""),
    ("uv", "tool install|uninstall|upgrade", "", "--help", ""),
    ("cargo", "install|uninstall", "", "--help --list", ""),
    ("cargo", "publish|yank", "", "--dry-run -n --help", ""),
    ("cargo", "owner", "-a --remove", "--help", ""),
    ("go", "install", "", "-n", "*@*"),
    ("gem", "install|uninstall|push|yank|update|owner", "", "--help", ""),
    ("twine", "upload", "", "--help", ""),
    ("poetry|pdm|hatch|rye|uv|flit|maturin|flutter|dart|vsce|ovsx|jsr", "publish", "", "--dry-run --help -n", ""),
    ("poetry|pdm", "source add", "", "--help", ""),
    ("poetry", "config repositories.*", "", "--help", ""),
    ("swift", "package-registry publish", "", "", ""),
    ("flutter|dart", "pub publish", "", "--dry-run -n", ""),
    ("flutter|dart", "pub global activate", "", "", ""),
    ("mvn|mvnw", "deploy", "", "--help", ""),
    ("mvn|mvnw", "", "", "--help", "deploy deploy:* release:perform nexus-staging:release"),
    ("gradle|gradlew", "publish|publishPlugins|uploadArchives|closeAndReleaseRepository", "", "--dry-run -m --help", ""),
    ("gradle|gradlew", "", "", "--dry-run --help", "publish publishPlugins uploadArchives"),
    ("dotnet", "nuget push|delete", "", "--help", ""),
    ("dotnet", "tool install|uninstall", "-g", "--help", ""),
    ("nuget", "push|delete", "", "", ""),
    ("composer", "global require|remove|update", "", "", ""),
    ("mix|rebar3", "hex.publish|hex", "", "--dry-run", ""),
    ("pod", "trunk push|delete|deprecate", "", "", ""),
    ("cabal", "upload|install", "", "", ""),
    ("docker|podman|nerdctl", "push", "", "--help", ""),
    ("docker|podman", "image|manifest push", "", "--help", ""),
    ("docker", "buildx build", "--push", "", ""),
    ("docker|podman", "build", "--push", "", ""),
    ("helm", "push", "", "", ""),
    ("goreleaser", "release", "", "--snapshot --skip=publish", ""),
    ("semantic-release|release-it|np", "", "", "--dry-run --help --version", ""),
    ("apt|apt-get|aptitude", "install|remove|purge|autoremove|upgrade|dist-upgrade|full-upgrade|build-dep", "", "-s --help", ""),
    ("apt-key|add-apt-repository", "", "", "--help", ""),
    ("dnf|yum|microdnf|zypper|tdnf|rpm-ostree|urpmi", "install|in|remove|rm|erase|upgrade|update|up|dup|autoremove|groupinstall|reinstall|downgrade|dist-upgrade|localinstall|swap|override", "", "--help --assumeno --dry-run", ""),
    ("apk", "add|del|upgrade|fix", "", "-s --simulate --help", ""),
    ("pacman|yay|paru", "", "-S -R -U", "-Q --help -s -i -p", ""),
    ("brew|port", "install|uninstall|remove|rm|upgrade|tap|untap|reinstall|link|unlink|cleanup|autoremove", "", "--help --dry-run -n", ""),
    ("snap|flatpak", "install|remove|uninstall|refresh|update|revert", "", "--help", ""),
    ("emerge", "", "-C --unmerge --depclean", "-p --pretend", ""),
    ("nix-env", "", "-i -e -u", "", ""),
    ("nix", "profile install|remove|upgrade|add", "", "", ""),
    ("dpkg", "", "-i -r -P", "-l -L -s", ""),
    ("rpm", "", "-i -e -U -F", "-q -Q", ""),
    ("choco|scoop|winget|pkg|opkg", "install|uninstall|upgrade|delete|remove", "", "--help", ""),
    ("pkg_add|xbps-install|eopkg|mas", "", "", "--help", ""),
    ("conda|mamba|micromamba", "install|remove|uninstall|update", "-n=base --name=base", "--dry-run", ""),
    ("rustup", "self uninstall", "", "", ""),
    ("luarocks|cpanm|cpan|opam|raco|nimble|ghcup", "install|upload|publish|remove", "", "--local", ""),
];

pub(super) fn package_safety() -> Policy {
    let filters =
        vec![
            // `sudo pip install` writes to the system.
            CommandFilter::All(vec![
                CommandFilter::Runs(vec![crate::filter::runs(["sudo", "doas"])].into()),
                CommandFilter::Runs(
                    vec![
                        crate::filter::runs(["pip", "pip3", "npm", "gem", "cpan", "cpanm", "make"])
                            .subcommand("install|uninstall|i|update"),
                        crate::filter::runs(["make"]).operand(&["install", "uninstall"]),
                    ]
                    .into(),
                ),
            ]),
            CommandFilter::Runs(
                vec![crate::filter::runs(["python*"]).any_flag(&["-m=pip", "-m=twine"]).operand(&[
                    "--break-system-packages", "--index-url*", "--extra-index-url*", "-i", "upload",
                ])]
                .into(),
            ),
        ];
    let reason = "packages of the system or of others would change; install into the project";
    policy("package-safety", PolicyVerdict::Ask, reason, PACKAGES, filters)
}

#[rustfmt::skip]
const DATABASES: &[Row] = &[
    ("dropdb|dropuser|pg_dropcluster", "", "", "--help --version", ""),
    ("mysqladmin|mariadb-admin", "", "", "--help", "drop flush-all"),
    ("redis-cli|valkey-cli|keydb-cli", "", "", "--help --scan", "FLUSHALL FLUSHDB flushall flushdb Flushall FlushAll"),
    ("prisma", "migrate reset", "", "--help", ""),
    ("prisma", "db push", "--force-reset --accept-data-loss", "--help", ""),
    ("drizzle-kit", "drop", "", "--help", ""),
    ("rails|rake", "db:drop|db:reset|db:drop:all|db:purge|db:migrate:reset|db:schema:load|db:truncate_all|db:setup", "", "-T -D --help", ""),
    ("rails|rake", "", "", "-T -D --help", "db:drop db:reset db:purge db:migrate:reset db:truncate_all"),
    ("sequelize|sequelize-cli", "db:drop|db:migrate:undo:all|db:seed:undo:all", "", "--help", ""),
    ("knex", "migrate:rollback", "--all", "--help", ""),
    ("typeorm|typeorm-ts-node-commonjs|typeorm-ts-node-esm", "schema:drop", "", "--help", ""),
    ("mikro-orm", "schema:drop|schema:fresh|migration:fresh", "", "--help", ""),
    ("mikro-orm", "schema drop|fresh", "", "--help", ""),
    ("alembic|aerich", "downgrade", "", "--help --sql", "base -1"),
    ("flask", "db downgrade", "", "--help", "base"),
    ("flyway", "clean", "", "--help", ""),
    ("liquibase", "drop-all|dropAll|rollback", "", "--help", ""),
    ("sqlx", "database drop|reset", "", "--help", ""),
    ("diesel", "database reset|drop", "", "--help", ""),
    ("dbmate", "drop", "", "--help", ""),
    ("migrate", "drop", "", "--help -help", ""),
    ("goose", "reset", "", "", ""),
    ("ecto|mix", "ecto.drop|ecto.reset|ecto.rollback", "", "--help", ""),
    ("doctrine|symfony|console", "doctrine:database:drop|doctrine:schema:drop", "", "--help --dump-sql", ""),
    ("django-admin|manage.py", "flush|reset_db|sqlflush", "", "--help", ""),
    ("wp", "db reset|drop|clean", "", "--help", ""),
    ("drush", "sql-drop|sql:drop", "", "--help", ""),
    ("hasura", "migrate delete", "", "", ""),
    ("hasura", "metadata clear", "", "", ""),
    ("supabase", "db reset", "", "--help", ""),
    ("pscale|turso|planetscale", "database|db|branch delete|destroy", "", "--help", ""),
    ("neonctl", "branches|projects|databases delete", "", "--help", ""),
    ("mongorestore|mongoimport", "", "--drop", "--help --dryRun", ""),
    ("pg_restore", "", "-c", "--help -l", ""),
    ("edgedb", "database drop|wipe", "", "--help", ""),
];

pub(super) fn database_safety() -> Policy {
    let filters = vec![
        CommandFilter::Does(Trait::DestroysData),
        CommandFilter::Runs(
            vec![
                crate::filter::runs(["python", "python3"]).subcommand("*manage.py flush|reset_db|sqlflush"),
                crate::filter::runs(["php"]).operand(&[
                    "migrate:fresh", "migrate:refresh", "migrate:reset", "db:wipe", "doctrine:database:drop",
                    "doctrine:schema:drop",
                ]),
                crate::filter::runs(["artisan"])
                    .subcommand("migrate:fresh|migrate:refresh|migrate:reset|db:wipe"),
                crate::filter::runs(["docker", "podman", "kubectl"]).operand(&["dropdb"]),
            ]
            .into(),
        ),
    ];
    let reason =
        "data would be lost; a statement with a condition, or a copy of the data first, is refused by none";
    policy("database-safety", PolicyVerdict::Block, reason, DATABASES, filters)
}

const DRY: &str = "--dry-run --dry-run=client --dry-run=server --dryrun --help -help help --what-if";

#[rustfmt::skip]
const INFRASTRUCTURE: &[Row] = &[
    ("docker|podman|nerdctl", "volume rm|remove|prune", "", DRY, ""),
    ("docker|podman|nerdctl", "system prune|reset", "", DRY, ""),
    ("docker|podman|nerdctl", "compose down", "-v", DRY, ""),
    ("docker-compose|podman-compose", "down", "-v", DRY, ""),
    ("docker|podman|docker-compose", "compose rm", "-v", DRY, ""),
    ("docker-compose", "rm", "-v", DRY, ""),
    ("docker|podman|nerdctl", "rm", "-f", DRY, ""),
    ("docker|podman|nerdctl", "container rm|prune", "-f", DRY, ""),
    ("docker|podman", "rm", "-v", DRY, ""),
    ("docker", "stack|service|secret|config|swarm|node rm|remove|leave", "", DRY, ""),
    ("podman", "pod|secret|machine rm|prune", "", DRY, ""),
    ("kubectl|oc", "delete|drain|cordon", "", DRY, ""),
    ("kubectl|oc", "replace", "--force", DRY, ""),
    ("kubectl|oc", "scale", "--replicas=0", DRY, ""),
    ("kubectl|oc", "apply", "--prune", DRY, ""),
    ("helm", "uninstall|delete|del|un", "", DRY, ""),
    ("helmfile", "destroy|delete", "", DRY, ""),
    ("terraform|tofu|terragrunt|cdktf", "destroy", "", DRY, ""),
    ("terraform|tofu|terragrunt|cdktf", "run-all destroy", "", DRY, ""),
    ("terragrunt", "run-all apply", "--terragrunt-non-interactive", DRY, ""),
    ("terraform|tofu|terragrunt|cdktf", "apply", "-auto-approve -destroy", DRY, ""),
    ("terraform|tofu|terragrunt", "state rm|push", "", "-dry-run -help --help", ""),
    ("terraform|tofu", "workspace delete", "", "-help --help", ""),
    ("terraform|tofu", "force-unlock|taint", "", "-help --help", ""),
    ("pulumi", "destroy", "", "--preview-only --help", ""),
    ("pulumi", "stack rm", "", "--help", ""),
    ("pulumi", "state delete", "", "--help", ""),
    ("pulumi", "up|update", "-y -f", "--help", ""),
    ("cdk|sst|cdk8s", "destroy|remove", "", DRY, ""),
    ("serverless|sls|amplify|sam|copilot|chalice|zappa|eb|up|arc", "remove|delete|destroy|terminate|undeploy|app", "", "--help --dry-run --list", ""),
    ("eksctl|kops|kind|k3d|minikube|ctlptl", "delete", "", DRY, ""),
    ("vagrant|packer|waypoint", "destroy", "", DRY, ""),
    ("nomad", "job stop|purge", "", "", ""),
    ("nomad|consul", "stop|leave", "-purge", "", ""),
    ("consul|etcdctl", "kv|del delete", "", "", ""),
    ("etcdctl", "del", "", "", ""),
    ("aws", "s3 rb", "", DRY, ""),
    ("aws", "s3 rm", "--recursive", DRY, ""),
    ("aws", "s3 sync", "--delete", DRY, ""),
    ("aws", "* delete-*|terminate-*|deregister-*|purge-*|remove-*|destroy-*|schedule-key-deletion|disable-*|deactivate-*|batch-delete-*|revoke-*|detach-*|release-address|reset-*", "", DRY, ""),
    ("gcloud|bq", "** delete|destroy|remove-iam-policy-binding", "", DRY, ""),
    ("gcloud", "storage rm", "", DRY, ""),
    ("gsutil", "rm|rb", "", DRY, ""),
    ("gsutil", "rsync", "-d", "-n", ""),
    ("bq", "rm", "", DRY, ""),
    ("az", "** delete|purge|delete-batch|remove", "", DRY, ""),
    ("doctl|linode-cli|hcloud|civo|scw|vultr-cli|oci|ibmcloud|aliyun|openstack|koyeb|atlas|confluent", "** delete|rm|remove|destroy|terminate|purge", "", DRY, ""),
    ("flyctl|fly", "** destroy|delete", "", DRY, ""),
    ("fly|flyctl", "volumes|volume|machine|machines|apps destroy|remove|rm", "", DRY, ""),
    ("heroku", "apps:destroy|apps:delete|pg:reset|addons:destroy|pipelines:destroy|domains:clear|keys:clear|redis:reset|maintenance:on|pg:killall", "", DRY, ""),
    ("heroku", "apps|addons|pg destroy|reset", "", DRY, ""),
    ("vercel|now|surge|netlify|render|railway|turso|dokku|wrangler|firebase|supabase|convex|cf|cloudflared|appwrite", "rm|remove|delete|teardown|down|sites:delete|apps:destroy|projects:delete|firestore:delete|delete-org|hosting:disable|database:remove|functions:delete|postgres:destroy", "", DRY, ""),
    ("vercel|netlify|railway|wrangler|firebase|supabase|cf|cloudflared|turso|dokku|render", "* rm|remove|delete|destroy|delete-all|bulk-delete", "", DRY, ""),
    ("wrangler", "* * delete|bulk-delete", "", DRY, ""),
    ("wrangler", "** delete", "", DRY, ""),
    ("gh|glab", "repo|release|secret|variable|run|cache|gist|ssh-key|gpg-key|codespace|label|project|workflow|issue|org delete|archive|disable|remove", "", "--help", ""),
    ("gh|glab", "api", "-X=DELETE -X=delete", "--help", ""),
    ("vault|bao", "kv delete|destroy|metadata", "", "-help --help", ""),
    ("vault|bao", "delete", "", "-help --help", ""),
    ("vault|bao", "secrets|auth|policy|lease|token|namespace disable|delete|revoke", "", "-help --help", ""),
    ("vault|bao", "operator seal|step-down", "", "-help --help", ""),
    ("rclone", "purge|delete|deletefile|rmdirs|rmdir|cleanup", "", "-n -i --help", ""),
    ("rclone", "sync", "", "-n -i --help", ""),
    ("s3cmd|mc", "rb|del|rm|rmdir", "", DRY, ""),
    ("ansible-galaxy", "remove|delete", "", "", ""),
    ("kafka-topics|kafka-topics.sh|kafka-configs", "", "--delete", "", ""),
    ("rabbitmqctl", "reset|force_reset|delete_queue|delete_vhost|purge_queue", "", "", ""),
    ("velero|argocd|flux|istioctl|linkerd|crossplane|k9s|rancher|kustomize", "** delete|uninstall|purge", "", DRY, ""),
    ("argocd", "app delete", "", "", ""),
];

pub(super) fn infrastructure_safety() -> Policy {
    let reason = "infrastructure or its data would be lost; a dry run or a plan shows what would go";
    policy("infrastructure-safety", PolicyVerdict::Block, reason, INFRASTRUCTURE, Vec::new())
}
