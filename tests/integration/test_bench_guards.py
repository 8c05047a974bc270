"""The measurements of the guards and of the paper's tables run to their end, print what they promise, and measure the
tiers that they name.

Short texts, each once, no peer, mostly the linear tier: nothing here is a figure of speed, and none is asserted."""
import json
import os
import shutil
import subprocess

import pytest

from conftest import BINARY, ROOT


def bench(*args, binary=BINARY, cwd=ROOT, env=None):
    done = subprocess.run([str(binary), "bench", *args], capture_output=True, text=True, cwd=cwd, timeout=300, env=env)
    return done.returncode, done.stdout, done.stderr


def test_guards_as_a_table():
    code, out, err = bench("guards", "--quick", "--no-peer", "--linear")
    assert code == 0, err
    assert "tokens" in out and "jailbreak" in out
    assert "conversation of" in out and "(goal 0.1)" in out


def test_guards_as_json():
    code, out, err = bench("guards", "--quick", "--no-peer", "--linear", "--json")
    assert code == 0, err
    document = json.loads(out)
    assert document["bench"] == "guards" and document["quick"] is True
    assert [row["tokens"] >= least for row, least in zip(document["rows"], (512, 2048))] == [True, True]
    for row in document["rows"]:
        assert row["ms"] > 0 and row["domain_ms"] > 0 and row["jailbreak_ms"] > 0 and row["pii_ms"] > 0
        assert row["peer_ms"] is None and row["ratio"] is None
        assert row["tiers"] == ["linear", "linear", "exact"]
    assert document["conversation"]["turn_ms"] > 0
    agent = document["agent"]
    assert agent["tool_bytes"] >= 65536 and agent["tools_known_ms"] > 0 and agent["turn_ms"] > 0


def test_the_neural_reads_everything():
    code, out, err = bench("guards", "--quick", "--no-peer", "--json")
    assert code == 0, err
    assert [row["tiers"] for row in json.loads(out)["rows"]] == [["neural", "linear+neural", "exact+neural"]] * 2
    code, out, err = bench("guards", "--quick", "--no-peer")
    assert code == 0 and out.count("neural, linear+neural, exact+neural") == 2, err


@pytest.mark.parametrize("args", [["guards"], ["paper", "--table", "VI"]])
def test_without_the_neural_nothing_is_measured(tmp_path, args):
    """A program that lies where no models are, and is started there."""
    binary = shutil.copy2(BINARY, tmp_path / "semroute")
    env = {name: value for name, value in os.environ.items() if name != "SEMROUTE_MODELS"}
    code, out, err = bench(*args, "--quick", "--no-peer", binary=binary, cwd=tmp_path, env=env)
    assert code == 3 and not out
    assert "model `neural`: not in" in err and "--linear" in err


def test_guards_on_texts_of_ones_own(tmp_path):
    folder = tmp_path / "longdocs-opensourceguide"
    folder.mkdir()
    rows = [{"lang": "en", "text": f"A sentence about bridges and bread, number {i}.\nAnother one on law."} for i in range(40)]
    (folder / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, err = bench("guards", "--quick", "--no-peer", "--linear", "--json", "--data", tmp_path)
    assert code == 0, err
    assert json.loads(out)["rows"][0]["ms"] > 0
    code, _, err = bench("guards", "--quick", "--no-peer", "--linear", "--data", tmp_path / "none")
    assert code == 3 and "guards" in err


def test_paper_through_the_real_envoy():
    code, out, err = bench("paper", "--quick", "--no-peer", "--linear", "--json")
    assert code == 0, err
    tables = {table["table"]: table for table in json.loads(out)["tables"]}
    assert list(tables) == ["IV", "VI", "VII", "VIII", "IX", "X", "XII"]
    for table in tables.values():
        assert all(len(row) == len(table["columns"]) for row in table["rows"]), table["table"]
    domain = tables["IX"]["rows"][0]
    assert float(domain[3]) > 0 and float(domain[4]) > 0
    at_once = tables["X"]["rows"][0]
    assert all(float(cell) > 0 for cell in at_once[3:])
    assert float(tables["IV"]["rows"][0][5]) > 0
    assert tables["VIII"]["rows"][0][2] == "left out (--max-tokens)"


def test_one_table_and_wrong_usage():
    code, out, err = bench("paper", "--quick", "--no-peer", "--linear", "--table", "VII")
    assert code == 0, err
    assert "Table VII" in out and "Table IX" not in out
    for wrong in (["paper", "--table", "V"], ["paper", "--repeats", "0"], ["guards", "--repeats", "0"], ["guards", "--no"],
                  ["paper", "--precision", "fp8"]):
        code, _, err = bench(*wrong)
        assert code == 2 and "semroute bench" in err, wrong
