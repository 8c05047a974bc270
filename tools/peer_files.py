#!/usr/bin/env python3
"""Prints how complete configuration files of vLLM Semantic Router load: a row a file, then totals.

FOLDER has index.jsonl, whose rows name `file` and `kind` (user or testdata). Each file is checked strictly and with
--lenient. A file that names a feature which stays out (STAYS_OUT) is not expected to load strictly. Environment
variables and the folders of models that the files name are absent: `check` warns of them. No row fails the run.

    tools/peer_files.py build/semroute ../shared/data/peer-configs [--all]
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import tempfile

# What semroute refuses by name, as `check` says it.
STAYS_OUT = ("remom", "fusion", "workflows", "confidence", "ratings", "memory", "vector_store", "rag", "hallucination",
             "hallucination_mitigation", "image_gen")


def check(semroute: str, path: pathlib.Path, *options: str) -> list[tuple[int, str]]:
    """The (line, message) of each error."""
    with tempfile.TemporaryDirectory() as cwd:
        done = subprocess.run([semroute, "check", *options, str(path)], capture_output=True, text=True, cwd=cwd,
                              timeout=300)
    found = re.findall(rf"^{re.escape(str(path))}:(?:(\d+):\d+:)? error: (.*)$", done.stdout, re.MULTILINE)
    if done.returncode and not found:
        found = [("0", f"exit code {done.returncode}: {done.stderr.strip()[:200]}")]
    return [(int(line or 0), message) for line, message in found]


def stopping(message: str) -> str:
    """The key or value that a message is about."""
    words = re.findall(r"`([^`]+)`", message)
    return words[0] if words else message


def stays_out(errors: list[tuple[int, str]]) -> str:
    for _, message in errors:
        if "is not supported" in message:
            for word in re.findall(r"`([^`]+)`", message):
                if word in STAYS_OUT:
                    return word
    return ""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("semroute")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--all", action="store_true", help="every error, not the first of a file")
    arguments = parser.parse_args()
    semroute = str(pathlib.Path(arguments.semroute).resolve())
    rows = [json.loads(line) for line in (arguments.folder / "index.jsonl").read_text().splitlines()]
    totals: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    stops: collections.Counter = collections.Counter()
    for row in rows:
        path = (arguments.folder / row["file"]).resolve()
        strict, lenient = check(semroute, path), check(semroute, path, "--lenient")
        out = stays_out(strict)
        total = totals[row["kind"]]
        total["files"] += 1
        total["strict"] += not strict
        total["lenient"] += not lenient
        total["expected"] += not out
        total["strict of these"] += not strict and not out
        for key in {stopping(message) for _, message in strict}:
            stops[key] += row["kind"] == "user"
        first = f"{stopping(strict[0][1])} (line {strict[0][0]})" if strict else ""
        state = "strict" if not strict else "lenient" if not lenient else "no"
        print(f"{row['file']:32} {state:8} {len(strict):3} {first:44} {'stays out: ' + out if out else ''}".rstrip())
        for line, message in strict if arguments.all else ():
            print(f"    {line}: {message}")
        for line, message in lenient if arguments.all else ():
            print(f"    lenient {line}: {message}")
    for kind, total in totals.items():
        print(f"{kind}: {total['files']} files; strict {total['strict']}, lenient {total['lenient']}; "
              f"{total['expected']} name nothing that stays out, of these strict {total['strict of these']}")
    print("what stops most user files: " + ", ".join(f"{key} {n}" for key, n in stops.most_common(40) if n))


if __name__ == "__main__":
    main()
