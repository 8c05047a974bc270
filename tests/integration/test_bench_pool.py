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


def test_a_simulation_is_the_same_every_time():
    """On a simulated clock nothing depends on the machine; another seed is another workload."""
    first, again, other = (bench("--simulate", "--json", "--requests", 60, "--cache", 50, "--seed", seed) for seed in (1, 1, 2))
    assert first[0] == other[0] == 0 and first == again and first != other
    rows = json.loads(first[1])["rows"]
    assert {row["policy"] for row in rows} == set(policies()) and all(row["lost"] == 0 for row in rows)
    assert any(row["faults"] and row["lost_in_part"] for row in rows)


def test_a_trace_is_what_would_be_sent():
    code, out, err = bench("--trace", "--workload", "agents", "--requests", 40)
    turns = [json.loads(line) for line in out.splitlines()]
    assert code == 0 and len(turns) >= 20, err
    assert {turn["workload"] for turn in turns} == {"agents"} and all(turn["body"]["messages"] for turn in turns)
    assert any(turn["pause_ms"] for turn in turns) and len({turn["session"] for turn in turns}) > 1
    assert bench("--trace", "--workload", "agents", "--requests", 40)[1] == out


def test_workers_join_leave_and_fail():
    code, out, err = bench("--soak", "--rate", 100, "--seconds", 6, "--json")
    assert code == 0, out + err
    document = json.loads(out)
    assert document["errors"] == document["refused"] == 0 and document["answers"] > 0 and document["changes"] > 0


@pytest.mark.parametrize("wrong", [["--speed", "0"], ["--cache", "33"], ["--data"], ["--soak", "--rate", "0"], ["--faults", "--no-faults"], ["--trace", "--soak"],
                                   ["--requests", "x"]])
def test_wrong_options(wrong):
    assert bench(*wrong)[0] == 2


def test_a_folder_without_data(tmp_path):
    code, _, err = bench("--data", tmp_path)
    assert code == 3 and "airline_trajectories.jsonl" in err


def plan(*args):
    code, out, err = bench("--plan", "--json", *args)
    assert code == 0, err
    return json.loads(out)


def by_hand(requests, kv_tokens, longest, split, cached, rate):
    """The plan of docs/sizing.md, once more: GPUs of one pool, of the short one, of the long one."""
    def gpus(some, n):
        ms = sum(0.1 * p * (1 - 0.9 * cached) + a * (10 + 0.1 * n) / n for p, a in some)
        return rate * ms / len(requests) / 1000 / 0.85
    wide, narrow = min(256, kv_tokens // split), max(1, min(256, kv_tokens // longest))
    short = [r for r in requests if sum(r) <= split]
    return gpus(requests, narrow), gpus(short, wide), gpus([r for r in requests if sum(r) > split], narrow)


def azure():
    for share, first, last in ((0.8, 64, 2048), (0.12, 2048, 8192), (0.08, 8192, 65536)):
        count = round(share * 20000)
        for i in range(count):
            tokens = first * (last / first) ** ((i + 0.5) / count)
            yield tokens * 0.8, tokens * 0.2


@pytest.mark.parametrize("split, blocks, longest", ((8192, 32768, 65536), (2048, 65536, 131072), (4096, 1000, 65536)))
def test_the_plan_is_what_the_page_says(split, blocks, longest):
    document = plan("--split", split, "--blocks", blocks, "--longest", longest, "--rate", 500)
    requests = list(azure())
    for row in document["rows"]:
        assert row["saved"] == pytest.approx(row["alpha"] * (1 - 1 / row["rho"]), abs=1e-4)
        if row["trace"] != "azure":
            continue
        one, short, long = by_hand(requests, blocks * 16, longest, split, row["cached"], 500)
        assert row["saved"] == pytest.approx(1 - (short + long) / one, abs=1e-4)
        for mine, theirs in ((one, "one_pool"), (short, "short_pool"), (long, "long_pool")):
            assert abs(row[theirs] - mine) < 1.001
        assert row["short_requests"] == pytest.approx(sum(sum(r) <= split for r in requests) / len(requests), abs=1e-4)


def test_the_plan_takes_the_best_split():
    best = {(row["trace"], row["cached"]): row for row in plan()["rows"]}
    assert {trace for trace, _ in best} == {"agents", "rag", "chat", "the three", "azure", "80 % short", "95 % short"}
    for split in (2048, 8192, 32768):
        for row in plan("--split", split)["rows"]:
            assert best[row["trace"], row["cached"]]["saved"] >= row["saved"] - 1e-6
    assert "17 to 39 %" in bench("--plan")[1]


@pytest.mark.parametrize("args", (("--split", 65536), ("--blocks", 1), ("--longest", 0), ("--soak",), ("--rate", 0)))
def test_plans_that_make_no_sense(args):
    code, out, err = bench("--plan", *args)
    assert code == 2, err
