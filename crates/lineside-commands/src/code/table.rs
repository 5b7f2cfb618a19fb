//! Calls of other languages as data: their names, and what they do.

use std::collections::HashMap;
use std::sync::LazyLock;

/// What a call does.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Does {
    /// Through a shell.
    Shell,
    /// Through a shell that starts a plain command itself.
    Plain,
    /// A program and its words; through a shell if an argument says so.
    Spawn,
    Delete,
    DeleteAll,
    Read,
    Write,
    Move,
    /// Gives a file another name.
    Link,
    /// A copy of its first argument at its second.
    Copy,
    /// Files below its last argument.
    Tree,
    /// Changes the folder at hand.
    Folder,
    /// Writes its file if it is given flags that say so.
    Opened,
    /// Writes its file if it is given the word `inplace`.
    Inplace,
    /// A program in the place of this one, or beside it: its path, its name and its words.
    Exec,
    /// A program of which each argument is a word.
    Words,
    /// Runs a file as code of its own language.
    Requires,
    /// Gives calls of which it is not known what they do.
    Hidden,
    /// Opens for what its second argument says.
    Open,
    Asks,
    Decodes,
    Evaluates,
    /// Drops or empties what a database or a cloud keeps.
    Destroys,
    /// The same where it is given no condition: `delete_many({})`.
    Empties,
}

impl Does {
    /// Whether it starts a program.
    pub(super) fn starts(self) -> bool {
        matches!(self, Self::Shell | Self::Plain | Self::Spawn)
    }
}

/// Calls by language: the name, or a suffix of it behind a dot, and what it does.
const CALLS: &[(&str, &str, Does)] = &[
    (
        "python",
        "flushall flushdb drop_database drop_collection drop_all truncate_all delete_bucket delete_db_instance \
         delete_db_cluster terminate_instances delete_stack",
        Does::Destroys,
    ),
    ("node", "flushall flushdb dropDatabase dropCollection dropAllSchemas dropSchema", Does::Destroys),
    ("ruby", "flushall flushdb", Does::Destroys),
    ("python", "delete_many", Does::Empties),
    ("node", "deleteMany", Does::Empties),
    (
        "python",
        "os.system os.popen commands.getoutput subprocess.getoutput subprocess.getstatusoutput getoutput popen",
        Does::Shell,
    ),
    (
        "python",
        "run call check_call check_output Popen pty.spawn os.posix_spawn os.posix_spawnp",
        Does::Spawn,
    ),
    (
        "python",
        "os.execv os.execve os.execvp os.execvpe os.execl os.execle os.execlp os.execlpe os.spawnv os.spawnve os.spawnvp \
         os.spawnvpe os.spawnl os.spawnle os.spawnlp os.spawnlpe",
        Does::Exec,
    ),
    ("python", "create_subprocess_shell", Does::Shell),
    ("python", "create_subprocess_exec", Does::Words),
    ("python", "runpy.run_path run_path", Does::Requires),
    ("python", "copyfile copy2 shutil.copy copymode copystat", Does::Copy),
    ("python", "copytree extractall unpack_archive", Does::Tree),
    ("python", "os.open", Does::Opened),
    ("python", "fileinput.input fileinput.FileInput FileInput", Does::Inplace),
    ("python", "os.remove os.unlink os.rmdir remove unlink rmdir", Does::Delete),
    ("python", "rmtree removedirs", Does::DeleteAll),
    ("python", "os.rename os.renames os.replace shutil.move move", Does::Move),
    ("python", "os.link os.symlink hardlink_to link_to", Does::Link),
    ("node", "link linkSync symlink symlinkSync", Does::Link),
    ("perl", "link", Does::Link),
    ("ruby", "File.link FileUtils.ln FileUtils.ln_f FileUtils.link FileUtils.cp_lr make_link", Does::Link),
    ("php", "link", Does::Link),
    ("other", "lfs.link posix.link file.link", Does::Link),
    (
        "python",
        "open io.open FileIO codecs.open gzip.open bz2.open lzma.open tarfile.open ZipFile",
        Does::Open,
    ),
    (
        "python",
        "os.truncate os.chmod os.chown os.utime os.mkfifo logging.basicConfig basicConfig \
         FileHandler RotatingFileHandler TimedRotatingFileHandler WatchedFileHandler",
        Does::Write,
    ),
    ("node", "exec execSync", Does::Shell),
    ("node", "spawn spawnSync execFile execFileSync", Does::Spawn),
    ("node", "unlink unlinkSync rmdir", Does::Delete),
    ("node", "rm rmSync rmdirSync rimraf rimrafSync removeSync remove emptyDirSync", Does::DeleteAll),
    ("node", "rename renameSync", Does::Move),
    ("node", "copyFile copyFileSync", Does::Copy),
    ("node", "cp cpSync", Does::Tree),
    ("node", "open openSync", Does::Open),
    ("python", "ctypes.CDLL ctypes.PyDLL CDLL PyDLL LoadLibrary dlopen", Does::Hidden),
    ("node", "process.binding process.dlopen process._linkedBinding", Does::Hidden),
    ("node", "require", Does::Requires),
    ("node", "readFile readFileSync createReadStream Bun.file readTextFile readTextFileSync", Does::Read),
    ("python", "dotenv_values upload_file linecache.getlines linecache.getline read", Does::Read),
    ("node", "Deno.remove Deno.removeSync", Does::DeleteAll),
    ("node", "writeTextFile writeTextFileSync Bun.write", Does::Write),
    (
        "node",
        "writeFile writeFileSync appendFile appendFileSync createWriteStream truncate truncateSync chmod chmodSync utimes \
         utimesSync",
        Does::Write,
    ),
    ("perl", "system exec qx open2 open3", Does::Plain),
    ("perl", "unlink rmdir remove", Does::Delete),
    ("perl", "rmtree remove_tree", Does::DeleteAll),
    ("perl", "rename move mv", Does::Move),
    ("perl", "copy cp", Does::Copy),
    ("perl", "truncate", Does::Write),
    ("perl", "syscall", Does::Hidden),
    ("perl", "chdir", Does::Folder),
    ("ruby", "chdir FileUtils.cd cd", Does::Folder),
    ("ruby", "capture2 capture2e capture3 popen2 popen2e popen3", Does::Plain),
    ("node", "Deno.Command", Does::Spawn),
    ("other", "readLines readRDS read.csv read.table", Does::Read),
    ("other", "writeLines saveRDS write.csv write.table", Does::Write),
    ("php", "chdir", Does::Folder),
    ("node", "chdir", Does::Folder),
    ("python", "chdir", Does::Folder),
    ("python", "timeit repeat Timer", Does::Evaluates),
    ("vim", "job_start term_start", Does::Spawn),
    ("vim", "writefile setfperm", Does::Link),
    ("vim", "readfile", Does::Read),
    ("perl", "require do", Does::Requires),
    ("perl", "open", Does::Open),
    ("ruby", "system exec spawn popen `", Does::Plain),
    ("ruby", "File.delete File.unlink FileUtils.rm FileUtils.rm_f rm rm_f delete unlink", Does::Delete),
    ("ruby", "FileUtils.rm_rf FileUtils.rm_r rm_rf rm_r remove_dir remove_entry rmtree", Does::DeleteAll),
    ("ruby", "File.rename FileUtils.mv mv", Does::Move),
    ("ruby", "FileUtils.cp FileUtils.cp_r FileUtils.copy copy_file", Does::Copy),
    ("ruby", "File.open open", Does::Open),
    ("ruby", "load require require_relative", Does::Requires),
    ("ruby", "File.read IO.read readlines", Does::Read),
    ("ruby", "File.write IO.write File.truncate IO.binwrite File.binwrite", Does::Write),
    ("php", "exec system shell_exec passthru popen proc_open", Does::Plain),
    ("php", "unlink rmdir", Does::Delete),
    ("php", "file_get_contents readfile file parse_ini_file", Does::Read),
    ("php", "file_put_contents touch chmod", Does::Write),
    ("php", "rename", Does::Move),
    ("php", "copy", Does::Copy),
    ("php", "fopen", Does::Open),
    ("php", "include require include_once require_once", Does::Requires),
    ("awk", "system", Does::Shell),
    ("vim", "system systemlist", Does::Plain),
    ("vim", "delete", Does::Delete),
    ("vim", "rename", Does::Move),
    (
        "elisp",
        "shell-command shell-command-to-string async-shell-command call-process-shell-command",
        Does::Plain,
    ),
    ("elisp", "delete-directory", Does::DeleteAll),
    ("elisp", "delete-file", Does::Delete),
    ("osascript", "do_shell_script", Does::Plain),
    ("other", "os.execute io.popen system shell", Does::Shell),
    ("other", "System.cmd", Does::Spawn),
    ("other", "exec", Does::Hidden),
    ("other", "os.remove file.remove", Does::Delete),
    ("other", "unlink rm File.rm_rf File.rm", Does::DeleteAll),
    (
        "python",
        "requests.get requests.post requests.put requests.patch requests.delete requests.request httpx.get httpx.post \
         httpx.put httpx.patch httpx.request session.get session.post session.put client.post client.put urlopen \
         urlretrieve urllib.request.Request HTTPConnection HTTPSConnection socket.socket create_connection sendall",
        Does::Asks,
    ),
    (
        "node",
        "fetch axios axios.get axios.post axios.put axios.patch axios.request http.request https.request http.get \
         https.get got got.post",
        Does::Asks,
    ),
    (
        "ruby",
        "Net::HTTP.get Net::HTTP.post HTTP.get HTTP.post HTTP.post_form URI.open TCPSocket.new",
        Does::Asks,
    ),
    ("php", "curl_exec fsockopen", Does::Asks),
    (
        "python",
        "b64decode b32decode a85decode unhexlify bytes.fromhex codecs.decode zlib.decompress marshal.loads",
        Does::Decodes,
    ),
    ("node", "atob", Does::Decodes),
    ("perl", "decode_base64 unpack", Does::Decodes),
    ("ruby", "Base64.decode64 unpack unpack1", Does::Decodes),
    ("php", "base64_decode gzinflate hex2bin str_rot13", Does::Decodes),
    ("python", "exec eval", Does::Evaluates),
    ("node", "eval Function vm.runInThisContext", Does::Evaluates),
    ("perl", "eval", Does::Evaluates),
    ("ruby", "eval instance_eval", Does::Evaluates),
    ("php", "eval assert", Does::Evaluates),
];

/// Whether a call may give a database its first argument as statements.
pub(super) fn is_statement(name: &str) -> bool {
    let calls = [
        "execute", "executescript", "executemany", "query", "exec", "run", "exec_query", "prepare", "raw",
        "sql", "do",
    ];
    name.rsplit_once('.').is_some_and(|(_, call)| calls.contains(&call))
        || matches!(name, "executeRaw" | "executeRawUnsafe" | "queryRawUnsafe")
        || name.ends_with("_query")
}

/// Whether the one database that code opens is in memory alone.
pub(super) fn is_in_memory(text: &str) -> bool {
    let opens: usize = ["connect(", "Database("].iter().map(|call| text.matches(call).count()).sum();
    opens == 1 && text.contains(":memory:") && !text.to_ascii_lowercase().contains("attach")
}

/// What a call does: by the first row with its name, or with what stands behind one of its dots.
pub(super) fn does(language: &str, name: &str) -> Option<Does> {
    type Names = HashMap<(&'static str, &'static str), usize, foldhash::fast::FixedState>;
    static NAMES: LazyLock<Names> = LazyLock::new(|| {
        let rows = CALLS.iter().enumerate().rev();
        rows.flat_map(|(at, row)| row.1.split(' ').map(move |call| ((row.0, call), at))).collect()
    });
    let behind = name.match_indices('.').map(|(dot, _)| &name[dot + 1..]);
    let rows = std::iter::once(name).chain(behind).filter_map(|name| NAMES.get(&(language, name)));
    rows.min().map(|row| CALLS[*row].2)
}
