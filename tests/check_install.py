#!/usr/bin/env python3
"""Installs a build into an empty prefix and uses what is there as others would.

The example is built and run twice, found by pkg-config and by find_package; the library exports what its header
declares and no more; manual pages are roff without warnings; completion scripts parse and know the commands.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=240, **more)
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}{done.stderr}"
    return done


def check_example(out):
    lines = dict(line.split(": ", 1) for line in out.splitlines())
    assert lines["decision"] == "science", lines["decision"]
    assert lines["model"] == "reasoner at 127.0.0.1:9003", lines["model"]
    assert lines["reasoning"] == "medium", lines["reasoning"]
    body = json.loads(lines["body"])
    assert body["model"] == "reasoner" and len(body["messages"]) == 1, body
    assert lines["body"].startswith('{"model": "reasoner", "messages": [{"role": "user", '), "the rest is as it came"
    assert lines["x-vsr-selected-model"] == "reasoner"
    assert lines["x-vsr-schema-version"] == "2"
    assert json.loads(lines["answer"])["usage"]["completion_tokens"] == 4


def by_pkg_config(source, work, libraries, compiler, flags):
    env = os.environ | {"PKG_CONFIG_PATH": str(libraries / "pkgconfig")}
    asked = run("pkg-config", "--cflags", "--libs", "semroute", env=env).stdout.split()
    run(compiler, *flags, "-Wall", "-Wextra", "-Werror", source / "examples/embed.c", *asked, "-o", work / "embed")
    check_example(run(work / "embed", env=os.environ | {"LD_LIBRARY_PATH": str(libraries)}).stdout)
    return run("pkg-config", "--modversion", "semroute", env=env).stdout.strip()


def by_cmake(source, work, prefix, compiler, flags):
    build = work / "cmake"
    run("cmake", "-G", "Ninja", "-S", source / "examples", "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_C_COMPILER={compiler}", f"-DCMAKE_C_FLAGS={' '.join(flags)}")
    run("cmake", "--build", build)
    check_example(run(build / "embed").stdout)


def check_exports(prefix, libraries):
    header = (prefix / "include/semroute/semroute.h").read_text(encoding="utf-8")
    declared = set(re.findall(r"SR_API[^;]*?\b(sr_\w+)\(", header))
    symbols = run("nm", "-D", "--defined-only", libraries / "libsemroute.so").stdout
    exported = {line.split()[-1].split("@")[0] for line in symbols.splitlines()}
    exported = {name for name in exported if not name.startswith(("__", "_", "asan"))}
    assert exported == declared, f"missing {declared - exported}, too many {exported - declared}"


def check_manuals(share, commands):
    for name in ["semroute"] + [f"semroute-{command}" for command in commands]:
        done = run("groff", "-man", "-Tutf8", "-ww", "-z", share / "man/man1" / f"{name}.1")
        assert not done.stderr, done.stderr
    page = run("groff", "-man", "-Tascii", "-P-cbou", share / "man/man1/semroute-explain.1").stdout
    for part in ("semroute explain", "--config, -c FILE", "--lenient", "SYNOPSIS", "OPTIONS"):
        assert part in page, page


def check_completions(share, commands):
    bash = share / "bash-completion/completions/semroute"
    ask = 'source "$1"; COMP_WORDS=("${@:2}"); COMP_CWORD=$(($# - 2)); _semroute; printf "%s\\n" "${COMPREPLY[@]}"'
    def complete(*words):
        return run("bash", "-c", ask, "bash", bash, *words).stdout.split()
    assert complete("semroute", "") == commands + ["help"]
    assert complete("semroute", "ex") == ["explain"]
    assert "--lenient" in complete("semroute", "check", "--l")
    assert complete("semroute", "models", "v") == ["verify"]
    assert complete("semroute", "help", "--completion", "z") == ["zsh"]
    run("bash", "-n", share / "zsh/site-functions/_semroute") # the same grammar, as far as it is used
    fish = (share / "fish/vendor_completions.d/semroute.fish").read_text(encoding="utf-8").splitlines()
    assert all(line.startswith(("#", "complete -c semroute ")) and line.count("'") % 2 == 0 for line in fish)


def main(source, build, compiler, sanitizers):
    source = pathlib.Path(source)
    flags = [f"-fsanitize={sanitizers}"] if sanitizers else []
    with tempfile.TemporaryDirectory() as folder:
        work, prefix = pathlib.Path(folder), pathlib.Path(folder) / "prefix"
        for component in ("program", "Unspecified"):  # and not the models
            run("cmake", "--install", build, "--prefix", prefix, "--component", component)
        libraries = next(prefix.glob("lib*/**/libsemroute.so")).parent
        version = by_pkg_config(source, work, libraries, compiler, flags)
        by_cmake(source, work, prefix, compiler, flags)
        check_exports(prefix, libraries)
        program = prefix / "bin/semroute"
        assert run(program, "version").stdout.startswith(f"semroute {version}")
        commands = run(program, "help", "--names").stdout.split()
        check_manuals(prefix / "share", commands)
        check_completions(prefix / "share", commands)
    print(f"installed {version}: example, exports, {len(commands) + 1} manual pages, completions")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
