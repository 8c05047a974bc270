"""`semroute bench pool` runs to its end on the texts that it ships, prints what it promises, and its soak loses no request.

No figure of speed is asserted."""
import json
import subprocess

import pytest

from conftest import BINARY, ROOT

ANY_HIT = 0.2  # of the prompt tokens: of the agents' workload every policy finds the common system prompt


def bench(*args, timeout=600):
    done = subprocess.run([str(BINARY), "bench", "pool", *map(str, args)], capture_output=True, text=True, cwd=ROOT, timeout=timeout)
    return done.returncode, done.stdout, done.stderr


def policies():
    pools = json.loads(subprocess.run([str(BINARY), "check", "--schema"], capture_output=True, text=True, check=True).stdout)

    def find(node):
        if isinstance(node, dict):
            policy = node.get("properties", {}).get("policy", {})
            words = policy.get("enum") or next((way["enum"] for way in policy.get("anyOf", []) if "enum" in way), [])
            if "least_request" in words:
                yield words
            for value in node.values():
                yield from find(value)
        elif isinstance(node, list):
            for value in node:
                yield from find(value)

    return next(find(pools))


def test_every_policy_over_every_workload():
    code, out, err = bench("--quick", "--no-peer", "--json")
    assert code == 0, err
    document = json.loads(out)
    rows = document["rows"]
    assert document["sample"] and {row["workload"] for row in rows} == {"agents", "rag", "paraphrases", "chat"}
    for workload in ("agents", "chat"):
        assert [row["policy"] for row in rows if row["workload"] == workload] == policies()
    for row in rows:
        assert not row["failed"] and row["lost"] == row["lost_in_part"] == 0 and row["requests"] >= 20
        assert row["ttft_ms"]["p99"] >= row["ttft_ms"]["p50"] > 0 and row["imbalance"] >= 1
        assert row["hit"] <= row["infinite_hit"] + 0.01
        assert row["workload"] != "agents" or row["hit"] > ANY_HIT


def test_faults_as_a_table():
    code, out, err = bench("--no-peer", "--workload", "chat", "--policy", "least_request", "--faults", "--speed", 50)
    assert code == 0, err
    assert "killed" in out and "p99 as it was" in out
    row = next(line.split() for line in out.splitlines() if line.startswith("chat") and "least_request" in line)
    answered, lost = int(row[4]), int(row[5])
    assert answered >= 10 and lost == 0


def test_workers_join_leave_and_fail():
    code, out, err = bench("--soak", "--rate", 100, "--seconds", 6, "--json")
    assert code == 0, out + err
    document = json.loads(out)
    assert document["errors"] == document["refused"] == 0 and document["answers"] > 0 and document["changes"] > 0


@pytest.mark.parametrize("wrong", [["--speed", "0"], ["--cache", "33"], ["--data"], ["--soak", "--rate", "0"], ["--faults", "--no-faults"],
                                   ["--requests", "x"]])
def test_wrong_options(wrong):
    assert bench(*wrong)[0] == 2


def test_a_folder_without_data(tmp_path):
    code, _, err = bench("--data", tmp_path)
    assert code == 3 and "airline_trajectories.jsonl" in err
