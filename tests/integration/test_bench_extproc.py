"""The measurement of the ext_proc door runs to its end, every request is answered, and it prints what it promises.

Short and once: nothing here is a figure of speed, and none is asserted. The no-op processor is measured too where it
was built."""
import json
import subprocess

from conftest import BINARY, ROOT

MODES = {"BUFFERED", "FULL_DUPLEX_STREAMED"}


def bench(*args):
    done = subprocess.run([str(BINARY), "bench", "extproc", *args], capture_output=True, text=True, cwd=ROOT, timeout=300)
    return done.returncode, done.stdout, done.stderr


def test_everything_as_json():
    code, out, err = bench("--quick", "--json")
    assert code == 0, err
    document = json.loads(out)
    assert document["bench"] == "extproc" and document["repeats"] == 1
    rows = document["rows"]
    ours = [row for row in rows if row["through"] in MODES]
    assert {row["prompt"] for row in rows} == {"1 KB", "8K tokens", "16K tokens"}
    assert {row["request"] for row in ours} >= {"explicit model", "keyword decision", "domain decision"}
    assert {row["through"] for row in rows} >= MODES | {"Envoy, no filter"}
    assert all(row["errors"] == 0 and row["p50_us"] > 0 and row["requests_per_second"] > 0 for row in rows + document["steady"]
               if row["request"] != "embedding decision")
    assert [row["peer_added_p50_us"] for row in rows if "peer_added_p50_us" in row] == [1070, 1530, 4900, 15080, 9450, 22940]
    assert {row["through"] for row in document["steady"]} == {row["through"] for row in rows}
    alone = document["without_envoy"]
    assert {row["mode"] for row in alone if row["processor"] == "semroute"} == MODES
    assert all(row["errors"] == 0 and row["requests_per_second"] > 0 and 0 < row["client_core"] <= 1 for row in alone)
    first = document["first_byte"]
    assert {row["body_bytes"] for row in first if row["through"] == "FULL_DUPLEX_STREAMED"} == {900, 65536, 1 << 20, 8 << 20}
    assert all(0 < row["first_us"] <= row["last_us"] for row in first)


def test_one_part_as_a_table():
    code, out, err = bench("--quick", "--only", "alone")
    assert code == 0, err
    assert "without Envoy" in out and "client's core" in out and "1,000 requests/s" not in out


def test_mistakes_in_the_options():
    for args in (["--only", "nothing"], ["--repeats", "0"], ["--seconds"], ["more"]):
        code, _, err = bench(*args)
        assert code == 2 and "\nsemroute bench extproc [--json]" in err
