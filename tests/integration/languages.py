"""Builds and runs what is written in other languages: upstreams (tests/upstreams) and parsers (tests/parsers). Nothing is
downloaded: Go has its standard library, Rust and Java the packages that tools/setup.sh installs."""
import base64
import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys

from conftest import ROOT

PARSERS = ROOT / "tests" / "parsers"
BUILT = pathlib.Path(os.environ.get("SEMROUTE_LANGUAGES", ROOT / "build" / "languages"))
JARS = [pathlib.Path("/usr/share/java") / f"jackson-{part}.jar" for part in ("core", "annotations", "databind")]


def command(args, **more):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=600, **more)
    assert done.returncode == 0, (args, done.stdout, done.stderr)
    return done.stdout


def newer(target, folder):
    files = [file for file in folder.rglob("*") if file.is_file()]
    return target.exists() and all(target.stat().st_mtime >= file.stat().st_mtime for file in files)


@contextlib.contextmanager
def alone(name):
    """One process of a parallel run builds, the others wait and find it built."""
    BUILT.mkdir(parents=True, exist_ok=True)
    with open(BUILT / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def go_program(folder, name):
    """The program of a folder of Go files."""
    target = BUILT / name
    with alone(name):
        if newer(target, folder):
            return target
        command([shutil.which("go") or "go", "build", "-o", target, "."], cwd=folder, env={
            **os.environ, "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod", "CGO_ENABLED": "0"})
    return target


def rust_program(folder, name):
    """The program of a Rust package, with Debian's crates. The sources are copied: cargo writes a lock file beside them."""
    work, target = BUILT / f"{name}-source", BUILT / "target" / "debug" / name
    with alone("rust"):  # the packages share a folder of targets
        if newer(target, folder):
            return target
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(folder, work)
        command(["cargo", "build", "--offline", "--target-dir", BUILT / "target",
                 "--config", 'source.crates-io.replace-with="debian"',
                 "--config", 'source.debian.directory="/usr/share/cargo/registry"'], cwd=work)
        os.utime(target)
    return target


def readings(bodies):
    """What each parser reads: for each body {parser: reading, or None where it refuses the body}."""
    programs = [[go_program(PARSERS / "go", "parsers-go")], [rust_program(PARSERS / "rust", "parsers")],
                [sys.executable, PARSERS / "parse.py"], ["node", PARSERS / "parse.js"],
                ["java", "-XX:TieredStopAtLevel=1", "-cp", ":".join(map(str, JARS)), PARSERS / "java" / "Parse.java"]]
    lines = "".join(base64.b64encode(body).decode() + "\n" for body in bodies)
    found = [{} for _ in bodies]
    for program in programs:
        told = command(program, input=lines).splitlines()
        assert len(told) == len(bodies), program
        for reading, line in zip(found, told):
            reading.update(json.loads(line))
    return found
