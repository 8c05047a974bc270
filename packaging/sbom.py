#!/usr/bin/env python3
"""sbom.py PROGRAM VERSION EPOCH [--licenses DIR]: the bill of materials of semroute as CycloneDX 1.5 JSON.

It lists what the program is linked with, by the Debian package and version on the machine that linked it, with the graph
of which library needs which; libraries that are linked in or used as headers; and each model with the hashes of its
files. DIR gets the copyright file of each package. Two runs over the same inputs print the same bytes.
"""
import argparse
import datetime
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[1]
MODELS = {"all-MiniLM-L6-v2": "Apache-2.0", "multilingual-e5-small": "MIT", "neural": "Apache-2.0", "neural-multilingual": "Apache-2.0", "domain-linear": "Apache-2.0",
          "jailbreak-linear": "Apache-2.0", "mmlu-kb": "Apache-2.0", "signal-heads": "Apache-2.0", "tools": "Apache-2.0"}


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def package_of(path):
    """The Debian package that owns a file, by its name here or by the one before /usr was merged."""
    real = str(pathlib.Path(path).resolve())
    for name in (real, real.removeprefix("/usr")):
        done = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.split(":")[0]
    raise SystemExit(f"sbom: no package owns {path}")


def needed(path):
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", run("readelf", "-d", str(path))))


def shared(program):
    """{soname: path} of all that the loader maps for the program."""
    return dict(re.findall(r"(\S+) => (/\S+)", run("ldd", str(program))))


def linked_in(program):
    """Paths of the static archives that the program was linked with."""
    rules = (program.parent / "build.ninja").read_text(encoding="utf-8")
    block = re.search(r"^build semroute: .*?(?=^build )", rules, re.S | re.M).group(0)
    empty = ("librt.a", "libpthread.a", "libdl.a")  # glibc's, whose content is in libc
    return sorted(path for path in set(re.findall(r"(/usr/\S+\.a)\b", block)) if not path.endswith(empty))


class Bill:
    """Components by package, and which needs which."""

    def __init__(self, version):
        self.components, self.edges, self.version = {}, {"semroute": set()}, version

    def add(self, package):
        if package not in self.components:
            number, arch, source = run("dpkg-query", "-W", "-f", "${Version}\n${Architecture}\n${source:Package}", package).split("\n")[:3]
            ref = f"pkg:deb/debian/{package}@{number}?arch={arch}&distro=debian-12"
            self.components[package] = {"type": "library", "bom-ref": ref, "name": package, "version": number, "purl": ref,
                                        "properties": [{"name": "debian:source", "value": source}]}
            self.edges.setdefault(package, set())
        return package

    def ref(self, name):
        return self.components[name]["bom-ref"] if name in self.components else name

    def json(self, epoch):
        models = [model(name, licence) for name, licence in sorted(MODELS.items()) if (ROOT / "models" / name).is_dir()]
        edges = [{"ref": self.ref(name), "dependsOn": sorted(self.ref(other) for other in others)}
                 for name, others in sorted(self.edges.items())]
        edges[[e["ref"] for e in edges].index("semroute")]["dependsOn"] += [m["bom-ref"] for m in models]
        return {
            "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, 'semroute ' + self.version)}",
            "metadata": {"timestamp": datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).isoformat(),
                         "component": {"type": "application", "bom-ref": "semroute", "name": "semroute", "version": self.version,
                                       "licenses": [{"license": {"id": "Apache-2.0"}}]}},
            "components": [self.components[name] for name in sorted(self.components)] + models,
            "dependencies": edges}


def model(name, licence):
    """A component for a model's folder, with the hash of each file's content."""
    files = [{"type": "file", "name": str(path.relative_to(ROOT)), "hashes": [{"alg": "SHA-256", "content": sha256(path)}]}
             for path in sorted((ROOT / "models" / name).rglob("*")) if path.is_file() and not path.name.startswith(".")]
    return {"type": "machine-learning-model", "bom-ref": f"model:{name}", "name": name, "licenses": [{"license": {"id": licence}}],
            "components": files}


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("version")
    parser.add_argument("epoch", type=int)
    parser.add_argument("--licenses", type=pathlib.Path)
    args = parser.parse_args()
    bill, libraries = Bill(args.version), shared(args.program)
    for path in linked_in(args.program) + ["/usr/include/xxhash.h"]:
        bill.edges["semroute"].add(bill.add(package_of(path)))
    for name, path in [("semroute", args.program)] + sorted(libraries.items()):
        of = "semroute" if name == "semroute" else bill.add(package_of(path))
        bill.edges[of] |= {bill.add(package_of(libraries[n])) for n in needed(path) if n in libraries} - {of}
    print(json.dumps(bill.json(args.epoch), indent=1))
    for package in bill.components if args.licenses else ():
        shutil.copyfile(f"/usr/share/doc/{package}/copyright", args.licenses / f"{package}.txt")


if __name__ == "__main__":
    main()
