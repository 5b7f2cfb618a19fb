//! Programs behind runners, modules and scripts of programs, and what runs on another machine or in a container.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lineside_commands::{Analysis, CommandProgram, Shell, Surroundings, Trait, Unknown, analyse};

fn read(text: &str) -> Analysis {
    analyse(text, Shell::Bash, &Surroundings::new("/proj", "/home/dev"))
}

/// A program with the words behind it, as far as they are known.
fn line(program: &CommandProgram) -> String {
    let words = program.args.iter().map(lineside_commands::Argument::pattern);
    std::iter::once(program.name.pattern()).chain(words).collect::<Vec<_>>().join(" ")
}

/// Whether the last program that a command lists is this one, here or elsewhere.
fn check(rows: &[(&str, &str)], programs: fn(&Analysis) -> &[CommandProgram]) {
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|(text, expected)| {
            let analysis = read(text);
            let lines: Vec<String> = programs(&analysis).iter().map(line).collect();
            (!lines.iter().any(|line| line == expected)).then(|| format!("{text}: {lines:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_program_behind_a_runner_is_listed() {
    let rows = [
        ("pnpm prisma migrate reset", "prisma migrate reset"),
        ("yarn prisma migrate reset", "prisma migrate reset"),
        ("bun prisma migrate reset", "prisma migrate reset"),
        ("bun --cwd api prisma migrate reset", "prisma migrate reset"),
        ("bun run prisma migrate reset", "prisma migrate reset"),
        ("npm run prisma -- migrate reset", "prisma migrate reset"),
        ("npm --prefix api x -- prisma migrate reset", "prisma migrate reset"),
        ("npm x prisma migrate reset", "prisma migrate reset"),
        ("npx prisma@5 migrate reset", "prisma migrate reset"),
        ("npx -y aws-cdk@2 destroy --force", "cdk destroy --force"),
        ("npx -y rimraf@latest .git", "rimraf .git"),
        ("npx --workspace=db prisma migrate reset", "prisma migrate reset"),
        ("npx @sequelize/cli@6 db:drop", "sequelize db:drop"),
        ("pnpm --filter db exec prisma migrate reset", "prisma migrate reset"),
        ("pnpm -F db prisma migrate reset", "prisma migrate reset"),
        ("pnpm recursive exec rimraf .git", "rimraf .git"),
        ("yarn workspace db prisma migrate reset", "prisma migrate reset"),
        ("yarn workspace db run prisma migrate reset", "prisma migrate reset"),
        ("yarn workspaces foreach -A run prisma migrate reset", "prisma migrate reset"),
        ("yarn node -e 1", "node -e 1"),
        ("corepack pnpm rimraf .git", "rimraf .git"),
        ("npx shx rm -rf .git", "rm -rf .git"),
        ("npx dotenv -- rm -rf .git", "rm -rf .git"),
        ("npx dotenv -e .env.test prisma migrate reset", "prisma migrate reset"),
        ("npx dotenvx run -f .env.test -- jest --ci", "jest --ci"),
        ("npx env-cmd -f .env.test prisma migrate reset", "prisma migrate reset"),
        ("npx cross-env X=1 prisma migrate reset", "prisma migrate reset"),
        ("npx concurrently \"yarn prisma migrate reset\" \"yarn dev\"", "prisma migrate reset"),
        ("npx lerna exec -- rm -rf .git", "rm -rf .git"),
        ("nx exec -- prisma migrate reset", "prisma migrate reset"),
        ("hatch run dev:python manage.py flush", "manage.py flush"),
        ("nvm exec 20 npx prisma migrate reset", "prisma migrate reset"),
        ("deno run -A npm:prisma@5 migrate reset", "prisma migrate reset"),
        ("node node_modules/.bin/rimraf .git", "rimraf .git"),
        ("php artisan migrate:fresh", "artisan migrate:fresh"),
        ("php -d memory_limit=-1 bin/console doctrine:database:drop", "console doctrine:database:drop"),
        ("symfony console doctrine:database:drop", "console doctrine:database:drop"),
        ("bash vendor/bin/sail up -d", "sail up -d"),
        ("spring rails db:drop", "rails db:drop"),
        ("ruby bin/rails db:drop", "rails db:drop"),
        ("python3 src/manage.py flush", "manage.py flush"),
    ];
    check(&rows, |analysis| &analysis.programs);
}

#[test]
fn a_module_that_has_a_row_is_that_program() {
    let rows = [
        ("python -m alembic downgrade base", "alembic downgrade base"),
        ("python3 -m alembic -c a.ini downgrade base", "alembic -c a.ini downgrade base"),
        ("python -malembic downgrade base", "alembic downgrade base"),
        ("py -m flask db downgrade base", "flask db downgrade base"),
        ("uv run python -m django flush", "django-admin flush"),
        ("uv run -m alembic downgrade base", "alembic downgrade base"),
        ("poetry run python -m flask db downgrade base", "flask db downgrade base"),
        ("hatch -e dev run python -m alembic downgrade base", "alembic downgrade base"),
    ];
    check(&rows, |analysis| &analysis.programs);
    // What stands behind a module is no code.
    assert!(read("python -m pytest -c 'import os; os.remove(\"x\")'").touches.is_empty());
}

#[test]
fn scripts_and_verbs_of_a_runner_are_no_programs() {
    for text in [
        "yarn build",
        "yarn workspace web build",
        "yarn clean",
        "yarn test -t 'delete account'",
        "yarn link ../x",
        "pnpm install",
        "pnpm rm lodash",
        "pnpm -r build",
        "pnpm --filter web dev",
        "bun test",
        "bun index.ts --port 3",
        "npm run rm",
        "npm run lint -- --fix",
        "npm rm lodash",
        "node dist/index.js migrate",
        "deno run -A main.ts",
        "python -m http.server 8000",
        "python -m code",
        "cargo watch -x test",
        "dotenv list",
    ] {
        let analysis = read(text);
        assert_eq!(analysis.programs.len(), 1, "{text}: {:?}", analysis.programs);
    }
}

#[test]
fn what_runs_elsewhere_is_read_as_what_runs_here() {
    let rows = [
        ("docker compose exec web python manage.py flush", "manage.py flush"),
        ("docker compose exec web bundle exec rails db:drop", "rails db:drop"),
        ("docker compose exec -T web npx prisma migrate reset", "prisma migrate reset"),
        ("docker compose exec web uv run alembic downgrade base", "alembic downgrade base"),
        ("docker compose exec db bash -lc 'cd /x && dropdb a'", "dropdb a"),
        ("docker compose run --rm web php artisan migrate:fresh", "artisan migrate:fresh"),
        ("docker-compose run web rails db:drop", "rails db:drop"),
        ("docker exec db env PGPASSWORD=x dropdb a", "dropdb a"),
        ("docker run --rm postgres dropdb -h db a", "dropdb -h db a"),
        ("docker run --rm --entrypoint dropdb postgres a", "dropdb a"),
        ("docker run --rm hashicorp/terraform:1 destroy", "terraform destroy"),
        ("podman run --rm -v x:/x postgres dropdb a", "dropdb a"),
        ("kubectl exec deploy/web -c app -- bundle exec rails db:drop", "rails db:drop"),
        ("kubectl run x --rm -it --image=postgres -- dropdb a", "dropdb a"),
        ("kubectl exec web-0 -c app -- own-tool reset", "own-tool reset"),
        ("kubectl exec web-0 -it -- own-tool reset", "own-tool reset"),
        ("kubectl exec web-0 -n prod -- rabbitmqctl reset", "rabbitmqctl reset"),
        ("kubectl exec kafka-0 -c k -- kafka-topics --delete --topic x", "kafka-topics --delete --topic x"),
        ("kubectl exec etcd-0 -- etcdctl del x", "etcdctl del x"),
        ("oc rsh web-0 own-tool reset", "own-tool reset"),
        ("devcontainer exec --workspace-folder . rails db:drop", "rails db:drop"),
        ("ssh host dropdb a", "dropdb a"),
        ("ssh -p 22 u@host -t 'cd /srv && docker compose down -v'", "docker compose down -v"),
        ("ssh host \"sudo -u postgres dropdb a\"", "dropdb a"),
        ("ssh host <<< 'dropdb a'", "dropdb a"),
        ("ssh host 'bash -s' <<< 'dropdb a'", "dropdb a"),
        ("ssh one ssh two dropdb a", "dropdb a"),
        ("sshpass -p x ssh host dropdb a", "dropdb a"),
        ("mosh host -- dropdb a", "dropdb a"),
        ("heroku run -a app rails db:drop", "rails db:drop"),
        ("heroku run 'rails db:drop'", "rails db:drop"),
        ("fly ssh console -a x -C 'bin/rails db:drop'", "rails db:drop"),
        ("vagrant ssh web -c 'cd /vagrant && php artisan db:wipe'", "artisan db:wipe"),
        ("gcloud compute ssh vm --zone=z --command='dropdb a'", "dropdb a"),
        ("gh codespace ssh -c x -- dropdb a", "dropdb a"),
        ("multipass exec vm -- dropdb a", "dropdb a"),
        ("sail artisan migrate:fresh", "artisan migrate:fresh"),
        ("./vendor/bin/sail php artisan db:wipe", "artisan db:wipe"),
        ("ddev drush sql-drop", "drush sql-drop"),
        ("ddev exec php artisan migrate:fresh", "artisan migrate:fresh"),
        ("lando ssh -c 'drush sql-drop'", "drush sql-drop"),
    ];
    check(&rows, |analysis| &analysis.elsewhere);
    for text in
        ["docker run mysql mysql -e 'drop database a'", "echo 'drop table a' | docker exec -i db psql"]
    {
        assert!(read(text).traits.contains(&Trait::DestroysData), "{text}");
    }
}

#[test]
fn files_and_shells_elsewhere_are_none_of_here() {
    for text in [
        "ssh host cat /etc/x",
        "ssh host 'rm -rf /'",
        "ssh host",
        "ssh host \"cd $DIR && git pull\"",
        "docker run --rm img rm -rf /tmp/x",
        "docker run --rm -it alpine sh",
        "docker exec -it web bash",
        "docker run --rm img env",
        "docker compose exec web rm -rf /app/tmp",
        "kubectl exec -it web-0 -- sh",
        "heroku run bash",
        "sail up -d",
    ] {
        let analysis = read(text);
        assert_eq!(analysis.programs.len(), 1, "{text}: {:?}", analysis.programs);
        assert!(analysis.touches.is_empty() && analysis.traits.is_empty(), "{text}: {analysis:?}");
        assert!(analysis.unclear.is_empty(), "{text}: {:?}", analysis.unclear);
    }
    for text in ["ssh host \"$COMMAND\"", "docker exec web sh -c \"$COMMAND\"", "docker run img $COMMAND"] {
        assert!(read(text).is_unclear(Unknown::Program), "{text}");
    }
    // What stands in front of a connection runs here.
    assert_eq!(read("ssh -o ProxyCommand='rm x' host uptime").programs.len(), 2);
}

#[test]
fn machines_behind_machines_are_read_within_the_bounds() {
    let text = format!("{}dropdb a", "ssh host ".repeat(2000));
    assert!(read(&text).is_cut);
    assert!(read(&"docker run ".repeat(4000)).elsewhere.len() < 64);
}

#[test]
fn a_script_by_a_path_is_no_program_of_its_name_unless_it_lies_among_programs() {
    let rows = [
        ("sh ./install --prefix x", "install"),
        ("bash ./find . -delete", "find"),
        ("node scripts/kill 1", "kill"),
        ("python3 tools/rm.d/rm -r x", "rm"),
    ];
    for (text, name) in rows {
        let analysis = read(text);
        assert!(analysis.programs.iter().all(|program| program.name.pattern() != name), "{text}");
    }
    let known = [
        ("node ./node_modules/.bin/rimraf .git", "rimraf .git"),
        ("php ./artisan migrate:fresh", "artisan migrate:fresh"),
        ("python3 api/manage.py flush", "manage.py flush"),
        ("ruby bin/rails db:drop", "rails db:drop"),
    ];
    check(&known, |analysis| &analysis.programs);
}

#[test]
fn a_program_that_is_not_known_in_a_container_is_unclear_behind_its_dashes() {
    let analysis = read("kubectl exec web-0 -c app -- $CMD");
    assert!(analysis.unclear.iter().any(|unclear| unclear.what == Unknown::Program), "{analysis:?}");
}
