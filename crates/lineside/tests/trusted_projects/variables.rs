//! Variables that hooks inherit, and where they lead.

use super::*;

#[tokio::test]
async fn variables_of_the_user_are_what_they_are() {
    let mut wrong = Vec::new();
    for (line, runs) in [
        // They lead out of the project, or are not set.
        ("[ -s \"$TOOLS/x.sh\" ] && . \"$TOOLS/x.sh\"; true", true),
        ("\"$SHELL\" -c true", true),
        ("\"${ABSENT:-true}\" x", true),
        ("sh -c '${ABSENT-true} x'", true),
        ("[ -x \"$TOOLS/bin/x\" ] && \"$TOOLS/bin/x\"; true", true),
        (". \"$TOOLS/x.sh\"; sh sub/g.sh", true),
        ("[ -z \"$ABSENT\" ] || $ABSENT", false),
        // They lead into it.
        ("sh \"$SUB/g.sh\"", true),
        ("sh \"${ABSENT:-$SUB}/g.sh\"", true),
        ("on_path", false),
        // They may be others by then.
        (". sub/set.sh; ${ABSENT:-true} x", false),
        ("export $(cat s?t); ${ABSENT:-true} x", false),
        ("while read -r one; do export $one; done <s?t; ${ABSENT:-true} x", false),
        ("for i in 1 2; do ${ABSENT:-true} x; export $(cat s?t); done", false),
        ("env $(cat s?t) sh -c '${ABSENT:-true} x'", false),
        ("read -r ABSENT <o?ly; ${ABSENT:-true} x", false),
        ("read -r $(cat n?me) <o?ly; ${ABSENT:-true} x", false),
        ("set -- -a $(cat o?ly); getopts a: o; ${OPTARG:-true} x", false),
        ("env -u SHELL sh -c '${SHELL:-./late.sh} x'", true),
        ("env -i /bin/sh -c '${TOOLS:-./late.sh} x'", true),
        ("T=true; read T <o?ly; ${ABSENT:-$T} x", false),
    ] {
        let variables = [
            ("TOOLS", "HOME/tools"),
            ("SHELL", "/bin/sh"),
            ("SUB", "ROOT/sub"),
            ("BASH_ENV", "HOME/tools/x.sh"),
            ("PATH", "/usr/bin:/bin:ROOT/bin"),
        ];
        let room = Room::with(&variables);
        for file in ["tools/x.sh", "tools/bin/x"] {
            write(&room.folder.path().join(file), "A=b\n");
        }
        for file in ["sub/g.sh", "bin/on_path"] {
            room.write_program(file, "#!/bin/sh\ntrue\n");
        }
        for (file, text) in [("sub/set.sh", ""), ("set", "A=b"), ("only", "true"), ("name", "A")] {
            room.write(file, text);
        }
        room.write_claude(&format!("{line}; echo guarded >&2; exit 2"));
        let (verdict, said, in_force) = room.outcome().await;
        let verdict = format!("{verdict:?}");
        if (verdict.contains("guarded"), in_force) != (runs, usize::from(runs)) {
            wrong.push(format!("{line}: {verdict} {said}"));
        }
        // What comes to lie there, and what that sets, is not run.
        let mark = room.folder.path().join("mark");
        let late = format!("#!/bin/sh\ntouch {}\n", mark.display());
        for (file, text) in [("set", "ABSENT=./late.sh"), ("only", "./late.sh"), ("name", "ABSENT")] {
            room.write(file, text);
        }
        room.write_program("late.sh", &late);
        for file in ["", "sub/g.sh", "bin/on_path"] {
            tool(&room.session_of(&format!("with {file}")).await).await;
            wrong.extend(mark.exists().then(|| format!("{line}: {file} was run")));
            room.write_program(if file.is_empty() { "late.sh" } else { file }, &late);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn where_variables_lead_at_the_start_is_what_counts() {
    let line = "sh \"$SUB/g.sh\"; echo guarded >&2; exit 2";
    for (trusted, started, runs) in [
        ("/", "ROOT/sub", false), // It was not looked at.
        ("ROOT/sub", "/", true),
        ("ROOT/sub", "ROOT/sub", true),
        ("ROOT/sub", "ROOT/other", false),
    ] {
        let room = Room::with(&[("SUB", started)]);
        for file in ["sub/g.sh", "other/g.sh"] {
            room.write_program(file, "#!/bin/sh\ntrue\n");
        }
        room.write_claude(line);
        let mut user = room.user.clone();
        let value = trusted.replace("ROOT", room.root.to_str().unwrap());
        user.environment.insert("SUB".to_owned(), value);
        let content = room.assembly.read_project(&room.root, &user, None).content.unwrap();
        room.store.trust(&content, Vec::new(), Reach::Project).unwrap();
        let read = room.assembly.read_project(&room.root, &room.user, Some(content.items()));
        assert_eq!(read.content.as_ref().unwrap().digest(), content.digest(), "{trusted} {started}");
        room.assembly.install(read.sealed(&room.store).unwrap()).await.unwrap();
        let verdict = format!("{:?}", tool(&room.session().await).await);
        assert_eq!(verdict.contains("guarded"), runs, "{trusted} {started}: {verdict}");
    }
}
