//! Every kind of thing in the place of a file.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Boundary, OpenFileError, folders, open_own, read, read_if_there};

struct Room {
    root: tempfile::TempDir,
    _socket: UnixListener,
}

impl Room {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        fs::create_dir_all(at("project/folder")).unwrap();
        fs::write(at("outside"), "kept").unwrap();
        fs::write(at("project/file"), "inside").unwrap();
        assert!(Command::new("mkfifo").arg(at("project/pipe")).status().unwrap().success());
        symlink("file", at("project/link")).unwrap();
        symlink(at("outside"), at("project/out")).unwrap();
        symlink("nothing", at("project/dangling")).unwrap();
        symlink("circle", at("project/circle")).unwrap();
        symlink("/dev/zero", at("project/device")).unwrap();
        symlink("/dev/stdin", at("project/stdin")).unwrap();
        let socket = UnixListener::bind(at("project/socket")).unwrap();
        Self { root, _socket: socket }
    }

    fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    fn outside(&self) -> PathBuf {
        fs::canonicalize(self.root.path().join("outside")).unwrap()
    }
}

fn text(read: Result<Vec<u8>, OpenFileError>) -> Result<String, String> {
    read.map(|bytes| String::from_utf8(bytes).unwrap()).map_err(|error| error.to_string())
}

#[test]
fn only_a_regular_file_is_read_and_nothing_is_waited_for() {
    let room = Room::new();
    let of_user = |name: &str| text(read(&room.project().join(name), Boundary::Open, 16));
    for (name, expected) in [
        ("file", "inside"),
        // Users that keep files elsewhere link to them.
        ("link", "inside"),
        ("out", "kept"),
    ] {
        assert_eq!(of_user(name).unwrap(), expected);
    }
    for (name, expected) in [
        ("pipe", "it is a named pipe; replace it by a regular file"),
        ("folder", "it is a folder; "),
        ("socket", "it is a socket; "),
        ("device", "it is a device; "),
        ("circle", "it is a link that leads to itself; "),
        ("dangling", "it is a link that leads nowhere; "),
        ("dangling/deeper", "it is a link that leads nowhere; "),
    ] {
        let error = of_user(name).unwrap_err();
        assert!(error.starts_with(expected), "{name}: {error}");
        assert!(read_if_there(&room.project().join(name), Boundary::Open, 16).unwrap().is_err(), "{name}");
    }
    assert!(read_if_there(&room.project().join("nothing"), Boundary::Open, 16).is_none());
    assert!(read_if_there(&room.project().join("file/deeper"), Boundary::Open, 16).is_none());
    let bound = text(read(&room.project().join("file"), Boundary::Open, 3));
    assert_eq!(bound.unwrap(), "insi", "one byte more than the bound tells that there is more");
}

#[test]
fn what_leads_out_of_the_boundary_is_not_read() {
    let room = Room::new();
    let (project, outside) = (room.project(), room.outside());
    let of_project = |name: &str| text(read(&project.join(name), Boundary::Within(&project), 16));
    assert_eq!(of_project("file").unwrap(), "inside");
    assert_eq!(of_project("link").unwrap(), "inside", "a link may lead to another file of the project");
    for (name, expected) in [
        ("out", format!("it leads out of the project, to {}; ", outside.display())),
        ("../outside", format!("it leads out of the project, to {}; ", outside.display())),
        ("device", "it leads out of the project, to /dev/zero; ".to_owned()),
        ("stdin", "it leads out of the project, to /".to_owned()),
        ("pipe", "it is a named pipe; ".to_owned()),
        ("folder", "it is a folder; ".to_owned()),
        ("circle", "it is a link that leads to itself; ".to_owned()),
        ("dangling", "it is a link that leads nowhere; ".to_owned()),
    ] {
        let error = of_project(name).unwrap_err();
        assert!(error.starts_with(&expected), "{name}: {error}");
    }
    assert!(read_if_there(&project.join("nothing"), Boundary::Within(&project), 16).is_none());
    // The project itself may be reached through a link.
    let linked = room.root.path().join("linked");
    symlink(&project, &linked).unwrap();
    assert_eq!(text(read(&linked.join("file"), Boundary::Within(&linked), 16)).unwrap(), "inside");
}

#[cfg(target_os = "linux")]
#[test]
fn a_descriptor_without_a_path_is_out_of_every_boundary() {
    use std::os::fd::AsRawFd as _;
    let room = Room::new();
    let (end, _other) = std::io::pipe().unwrap();
    let link = room.project().join("descriptor");
    symlink(format!("/proc/self/fd/{}", end.as_raw_fd()), &link).unwrap();
    let error = read_if_there(&link, Boundary::Within(&room.project()), 16).unwrap().unwrap_err();
    assert!(matches!(error, OpenFileError::Outside(_)), "{error}");
    let root = room.project().join("root");
    symlink("/proc/self/root", &root).unwrap();
    let error = read(&root.join("etc/passwd"), Boundary::Within(&room.project()), 16).unwrap_err();
    assert!(matches!(error, OpenFileError::Outside(_)), "{error}");
}

#[test]
fn what_is_written_is_never_reached_through_a_link() {
    type Make = fn() -> OpenOptions;
    let room = Room::new();
    let write = |name: &str, options: &mut OpenOptions| -> Result<(), OpenFileError> {
        let mut file = open_own(&room.project().join(name), options)?;
        Ok(file.write_all(b"written")?)
    };
    let each: [(&str, Make); 3] = [
        ("truncated", || options(|open| open.write(true).create(true).truncate(true))),
        ("appended", || options(|open| open.append(true).create(true))),
        ("both", || options(|open| open.read(true).write(true).create(true))),
    ];
    for (how, options) in each {
        for (name, expected) in [
            ("out", "it is a symbolic link; "),
            ("link", "it is a symbolic link; "),
            ("dangling", "it is a symbolic link; "),
            ("circle", "it is a symbolic link; "),
            ("pipe", "it is a named pipe; "),
            ("folder", "it is a folder; "),
            ("socket", "it is a socket; "),
        ] {
            let error = write(name, &mut options()).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{how} {name}: {error}");
        }
        let new = room.project().join(how);
        write(how, &mut options()).unwrap();
        assert_eq!(fs::read_to_string(new).unwrap(), "written");
    }
    assert_eq!(fs::read_to_string(room.outside()).unwrap(), "kept");
    assert!(!room.project().join("nothing").exists());
}

fn options(set: impl FnOnce(&mut OpenOptions) -> &mut OpenOptions) -> OpenOptions {
    let mut options = File::options();
    set(&mut options);
    options
}

#[test]
fn folders_are_listed_in_order_and_within_the_boundary() {
    let room = Room::new();
    let project = room.project();
    let place = project.join("folder");
    for name in ["b", "B", "a"] {
        fs::create_dir(place.join(name)).unwrap();
    }
    symlink("a", place.join("linked")).unwrap();
    symlink("round", place.join("round")).unwrap();
    symlink("nowhere", place.join("gone")).unwrap();
    fs::write(place.join("file"), "").unwrap();
    let names = |found: Vec<PathBuf>| -> Vec<String> {
        found.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
    };
    let listed = |path: &Path, boundary: Boundary<'_>| {
        folders(path, boundary).map(names).map_err(|error| error.to_string())
    };
    // What a link in a circle was meant to be is found by opening what is below it.
    let expected = ["B", "a", "b", "linked", "round"];
    assert_eq!(listed(&place, Boundary::Open).unwrap(), expected);
    assert_eq!(listed(&place, Boundary::Within(&project)).unwrap(), expected);
    assert!(listed(&place, Boundary::Within(&place.join("a"))).unwrap_err().contains("out of the project"));
    for absent in ["nothing", "file/deeper"] {
        assert_eq!(listed(&project.join(absent), Boundary::Within(&project)).unwrap(), [""; 0]);
    }
    for (name, expected) in [
        ("file", "it is no folder; "),
        ("pipe", "it is no folder; "),
        ("circle", "it is a link that leads to itself; "),
        ("dangling", "it is a link that leads nowhere; "),
    ] {
        for boundary in [Boundary::Open, Boundary::Within(&project)] {
            let error = listed(&project.join(name), boundary).unwrap_err();
            assert!(error.starts_with(expected), "{name}: {error}");
        }
    }
}
