#!/usr/bin/env python3
"""Runs the example of the library, checks what it prints, and that the library exports the header and no more."""
import json
import re
import subprocess
import sys


def main(example, library, header):
    out = subprocess.run([example], check=True, capture_output=True, text=True, timeout=60).stdout
    print(out)
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

    declared = set(re.findall(r"SR_API[^;]*?\b(sr_\w+)\(", open(header, encoding="utf-8").read()))
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True)
    exported = {line.split()[-1].split("@")[0] for line in symbols.stdout.splitlines()}
    exported = {name for name in exported if not name.startswith(("__", "_", "asan"))}
    assert exported == declared, f"missing {declared - exported}, too many {exported - declared}"
    print(f"{len(declared)} functions exported")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
