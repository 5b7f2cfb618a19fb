"""Packs the wheel: the package, the programs of the command, what shells complete, and the manual.

    python3 pack.py OUT ROOT    with what `cargo xtask install --root ROOT` has laid out

It is the build backend of the package too, which has the command built in the repository around it. A wheel is a zip of the
form that PyPA's "Binary distribution format" describes: what lies in `lineside-….data/scripts` goes where programs are, with
`lineside-full` beside `lineside`, which finds it there.
"""

import base64
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
import zipfile
from pathlib import Path

OWN = Path(__file__).parent
REPOSITORY = OWN.parent.parent


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """For `pip install` and `python -m build` in this folder."""
    with tempfile.TemporaryDirectory() as root:
        # What it says is no line of the protocol.
        install = ["cargo", "xtask", "install", "--root", root]
        subprocess.run(install, cwd=REPOSITORY, check=True, stdout=sys.stderr)
        return pack(Path(wheel_directory), Path(root)).name


def build_sdist(sdist_directory, config_settings=None):
    """There is none: the command is built of the whole repository."""
    raise SystemExit("lineside has no source distribution: build the wheel in its repository")


def pack(out: Path, root: Path) -> Path:
    """Writes the wheel into a folder; its path."""
    project = tomllib.loads((OWN / "pyproject.toml").read_text())["project"]
    name = f"{project['name']}-{project['version']}"
    tag = f"py3-none-{platform(root / 'bin/lineside-full')}"
    files = {}
    for module in sorted((OWN / "src").rglob("*")):
        if module.is_file() and "__pycache__" not in module.parts:
            files[module.relative_to(OWN / "src").as_posix()] = (module.read_bytes(), 0o644)
    for program in ("lineside", "lineside-full"):
        files[f"{name}.data/scripts/{program}"] = ((root / "bin" / program).read_bytes(), 0o755)
    for page in sorted((root / "share").rglob("*")):
        # Which files there are is written down by the installer.
        if page.is_file() and page.name != "installed.json":
            files[f"{name}.data/data/{page.relative_to(root).as_posix()}"] = (page.read_bytes(), 0o644)
    for licence in sorted((REPOSITORY / "docs/licences").iterdir()):
        files[f"{name}.dist-info/licenses/{licence.name}"] = (licence.read_bytes(), 0o644)
    files[f"{name}.dist-info/METADATA"] = (metadata(project).encode(), 0o644)
    wheel = f"Wheel-Version: 1.0\nGenerator: lineside\nRoot-Is-Purelib: false\nTag: {tag}\n"
    files[f"{name}.dist-info/WHEEL"] = (wheel.encode(), 0o644)
    record = f"{name}.dist-info/RECORD"
    lines = [f"{path},sha256={digest(data)},{len(data)}\n" for path, (data, _) in files.items()]
    files[record] = ("".join([*lines, f"{record},,\n"]).encode(), 0o644)
    out.mkdir(parents=True, exist_ok=True)
    written = out / f"{name}-{tag}.whl"
    stamp = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800))[:6]
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, (data, mode) in files.items():
            entry = zipfile.ZipInfo(path, stamp)
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)
    return written


def digest(data: bytes) -> str:
    """As a record has it."""
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def platform(program: Path) -> str:
    """The platforms on which a program runs, as a tag: on Linux those with the newest symbols of glibc that it names."""
    own = re.sub(r"[-.]", "_", sysconfig.get_platform())
    if not own.startswith("linux_"):
        return own
    needed = [int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", program.read_bytes())]
    # 2.17 is the least that the tags of PEP 600 begin with.
    return f"manylinux_2_{max([17, *needed])}_{own.removeprefix('linux_')}"


def metadata(project) -> str:
    """The package as an index shows it."""
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {project['version']}"]
    lines += [f"Summary: {project['description']}", f"License-Expression: {project['license']}"]
    lines += [f"License-File: {licence.name}" for licence in sorted((REPOSITORY / "docs/licences").iterdir())]
    lines += [f"Classifier: {classifier}" for classifier in project["classifiers"]]
    lines += [f"Requires-Python: {project['requires-python']}"]
    for extra, needed in project["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}"]
        lines += [f'Requires-Dist: {one}; extra == "{extra}"' for one in needed]
    lines += ["Description-Content-Type: text/markdown", "", (OWN / project["readme"]).read_text()]
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("name the folder that the wheel is put into, and that of an installation")
    print(pack(Path(sys.argv[1]), Path(sys.argv[2])))
