//! Packages of the registries, each with what it depends on in a folder of its own below the target directory.
//!
//! A folder that was completed once is not touched again, so a run that was ended goes on where it was. Few are fetched at
//! the same time, each has its limit, and one that failed is tried once more.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::tools::python;

/// Fetched at the same time: more of them only slow each other down where the registry is the limit.
const AT_ONCE: usize = 3;
/// Seconds for one package and what it depends on; the largest one was seen to take 75 on a busy machine.
const LIMIT: &str = "600";
/// How often one is tried.
const TRIES: usize = 2;
/// What a completed folder has, with the name and version of its package.
const COMPLETE: &str = "installed";
/// Where in its folder packages of PyPI are.
pub(super) const PACKAGES: &str = "packages";

/// Where a package comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Registry {
    Npm,
    PyPi,
}

/// A package of a registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Package {
    registry: Registry,
    name: &'static str,
    version: &'static str,
    /// What of all that it depends on is installed as well, where that is not everything.
    with: &'static [&'static str],
}

impl Package {
    /// A package of npm, with all that it depends on.
    pub(super) const fn npm(name: &'static str, version: &'static str) -> Self {
        Self { registry: Registry::Npm, name, version, with: &[] }
    }

    /// A package of PyPI, and these beside it.
    pub(super) const fn pypi(
        name: &'static str,
        version: &'static str,
        with: &'static [&'static str],
    ) -> Self {
        Self { registry: Registry::PyPi, name, version, with }
    }

    /// Its name and version, as its registry writes them.
    pub(super) fn spec(&self) -> String {
        let sign = match self.registry {
            Registry::Npm => "@",
            Registry::PyPi => "==",
        };
        format!("{}{sign}{}", self.name, self.version)
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// The name of its folder.
    fn folder(&self) -> String {
        self.name().trim_start_matches('@').replace('/', "-")
    }
}

/// What was fetched: where each package is, or why it is not there.
pub(super) struct Downloads {
    places: BTreeMap<String, Result<PathBuf, String>>,
}

impl Downloads {
    /// Fetches what is not there yet.
    pub(super) fn fetch(folder: &Path, wanted: &[Package]) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let mut ordered = wanted.to_vec();
        ordered.sort_unstable();
        ordered.dedup();
        let queue = Mutex::new(ordered.into_iter());
        let places = Mutex::new(BTreeMap::new());
        thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    while let Some(package) = lock(&queue).next() {
                        let place = fetched(folder, &package).map_err(|error| format!("{error:#}"));
                        lock(&places).insert(package.spec(), place);
                    }
                });
            }
        });
        Ok(Self { places: places.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) })
    }

    /// The folder in which a package lies.
    pub(super) fn place(&self, package: &Package) -> Result<PathBuf> {
        match self.places.get(&package.spec()) {
            Some(Ok(place)) => Ok(place.clone()),
            Some(Err(why)) => bail!("{} could not be had: {why}", package.spec()),
            None => bail!("{} was not asked for", package.spec()),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn fetched(folder: &Path, package: &Package) -> Result<PathBuf> {
    let place = folder.join(package.folder());
    let complete = place.join(COMPLETE);
    let spec = package.spec();
    if fs::read_to_string(&complete).is_ok_and(|there| there.trim() == spec) {
        return Ok(place);
    }
    let began = Instant::now();
    let log = folder.join(format!("{}.log", package.folder()));
    for _ in 0..TRIES {
        if place.exists() {
            fs::remove_dir_all(&place)?;
        }
        fs::create_dir_all(&place)?;
        if installs(package, &place, &log)? {
            fs::write(&complete, &spec)?;
            println!("fetched {spec} in {} s", began.elapsed().as_secs());
            return Ok(place);
        }
    }
    let said = fs::read_to_string(&log).unwrap_or_default();
    bail!("{}", said.lines().next_back().unwrap_or("it said nothing, or took too long"))
}

/// Installs a package as its users do, but runs nothing of it.
fn installs(package: &Package, place: &Path, log: &Path) -> Result<bool> {
    let log = File::create(log)?;
    let runs = |program: &Path, arguments: &[&str]| -> Result<bool> {
        let mut command = Command::new("timeout");
        command.args(["-k", "5", LIMIT]).arg(program).args(arguments).current_dir(place);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log.try_clone()?);
        Ok(command.status().context("`timeout` did not start")?.success())
    };
    let spec = package.spec();
    match package.registry {
        Registry::Npm => {
            fs::write(place.join("package.json"), "{}")?;
            // As OpenClaw installs its plugins.
            let as_installed = ["--ignore-scripts", "--omit=dev", "--omit=peer", "--legacy-peer-deps"];
            let quiet = ["--no-audit", "--no-fund", "--loglevel=error", "--prefer-offline"];
            runs(Path::new("npm"), &[&["install"][..], &as_installed, &quiet, &[&spec]].concat())
        }
        Registry::PyPi => {
            let install = ["-m", "pip", "install", "--quiet", "--only-binary=:all:", "--target", PACKAGES];
            let python = python()?;
            Ok(runs(&python, &[&install[..], &["--no-deps", &spec]].concat())?
                && runs(&python, &[&install[..], package.with].concat())?)
        }
    }
}
