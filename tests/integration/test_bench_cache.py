"""The measurement of the cache runs to its end with a real gateway and a real Milvus, and prints what it promises.

Small: nothing here is a figure of speed, and none is asserted."""
import json
import subprocess

from conftest import BINARY, ROOT


def bench(*args):
    done = subprocess.run([str(BINARY), "bench", "cache", "--json", *args], capture_output=True, text=True, cwd=ROOT, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_exact_hits_through_the_gateway():
    document = bench("--hits")
    assert document["rows"] == []
    hits = {(row["by"], row["body_bytes"]): row for row in document["hits"]}
    assert {("semroute, GET /health", 0), ("semroute, exact hit", 1024), ("semroute, exact hit", 16384)} <= set(hits)
    assert all(0 < row["p50_us"] <= row["p99_us"] for row in document["hits"])
    assert hits["semroute, GET /health", 0]["ratio"] == 1


def test_milvus_finds_what_the_index_finds():
    rows = {row["by"]: row for row in bench("--size", "300", "--peer", "milvus")["rows"]}
    assert set(rows) == {"semroute", "milvus-lite"}
    assert min(row["recall"] for row in rows.values()) >= 0.99


def test_a_milvus_that_is_not_installed_is_said_to_be_so():
    rows = {row["by"]: row for row in bench("--size", "50", "--peer", "milvus", "--milvus", "/nonexistent/milvus")["rows"]}
    assert "not installed" in rows["milvus-lite"]["error"] and rows["semroute"]["entries"] == 50
