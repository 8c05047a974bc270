"""`semroute cache calibrate`: labelled pairs and questions of a log become a table, a plot and a threshold."""
import json

from conftest import semroute

SAME = [("How do I reset my password?", "how can i reset my password please"),
        ("What is the capital of Austria?", "Tell me the capital of Austria."),
        ("Where is my parcel?", "where is my parcel, please"),
        ("How do I close my account?", "How can I close my account?")]
DIFFERENT = [("What is the capital of Austria?", "What is the capital of Australia?"),
             ("How do I enable two-factor login?", "How do I disable two-factor login?"),
             ("Who won in 2014?", "Who won in 2018?"),
             ("Why is the sky blue?", "How do I bake bread?")]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def labelled(path):
    return write(path, [{"a": a, "b": b, "same": same} for pairs, same in ((SAME, True), (DIFFERENT, False)) for a, b in pairs])


def test_labelled_pairs(tmp_path):
    path, svg, pairs = labelled(tmp_path / "pairs.jsonl"), tmp_path / "plot.svg", tmp_path / "out.jsonl"
    done = semroute("cache", "calibrate", path, "--json", "--svg", svg, "--pairs", pairs)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["same"], found["different"], found["guessed"]) == (4, 4, False)
    assert len(found["thresholds"]) == 50 and found["thresholds"][0]["threshold"] == 0.5
    for before, after in zip(found["thresholds"], found["thresholds"][1:]):
        for gate in ("without_gate", "with_gate"):
            assert before[gate]["hits"] >= after[gate]["hits"] and before[gate]["false_hits"] >= after[gate]["false_hits"]
    assert found["thresholds"][0]["without_gate"]["false_hits"] >= 3 and found["thresholds"][0]["with_gate"]["false_hits"] == 0
    assert found["proposed"] == 0.5
    lines = [json.loads(line) for line in pairs.read_text().splitlines()]
    assert [line["gate"] for line in lines[4:7]] == ["name", "polarity", "date"] and lines[0]["gate"] == "agrees"
    assert all(-1 <= line["similarity"] <= 1.001 for line in lines)
    assert svg.read_text().startswith("<svg ") and svg.read_text().count("<polyline") == 4


def test_text_for_people(tmp_path):
    done = semroute("cache", "calibrate", labelled(tmp_path / "pairs.jsonl"), "--max-false-hits", "25%")
    assert done.returncode == 0 and "8 pairs: 4 ask the same, 4 do not" in done.stdout
    assert "proposed" in done.stdout and "at most 25.00 % false hits" in done.stdout and "* hits with the gate" in done.stdout


def test_questions_of_a_log_become_guessed_pairs(tmp_path):
    rows = [{"text": text} for pair in SAME + DIFFERENT for text in pair] + [{"text": SAME[0][0]}]
    done = semroute("cache", "calibrate", write(tmp_path / "log.jsonl", rows), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["guessed"] and found["texts"] == 15 and found["repeated"] == 2 and found["same"] >= 3 and found["different"] >= 2
    assert "guessed from 15 questions" in semroute("cache", "calibrate", tmp_path / "log.jsonl").stdout


def test_no_threshold_is_proposed_when_none_keeps_the_limit(tmp_path):
    rows = [{"a": "Where is my parcel?", "b": "Where is my parcel?", "same": same} for same in (True, False)]
    done = semroute("cache", "calibrate", write(tmp_path / "pairs.jsonl", rows), "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["proposed"] is None
    assert "No threshold" in semroute("cache", "calibrate", tmp_path / "pairs.jsonl").stdout


def test_what_is_wrong_is_said(tmp_path):
    for rows, what in (([{"a": "x", "b": "y"}], ":1: expected"), ([{"a": "x", "b": "y", "same": "yes"}], ":1: expected"),
                       ([{"text": "x"}, {"a": "x", "b": "y", "same": True}], ":2: the file has pairs and questions"),
                       ([], "no rows"), ([{"a": "x", "b": "y", "same": True}], "it needs both kinds")):
        done = semroute("cache", "calibrate", write(tmp_path / "bad.jsonl", rows))
        assert done.returncode == 1 and what in done.stderr, (rows, done.stderr)
    (tmp_path / "bad.jsonl").write_text('{"a": ')
    assert semroute("cache", "calibrate", tmp_path / "bad.jsonl").returncode == 1
    good = labelled(tmp_path / "pairs.jsonl")
    assert semroute("cache", "calibrate", "/nothing").returncode == 3
    assert semroute("cache", "calibrate", good, "--svg", tmp_path / "no" / "plot.svg").returncode == 3
    for args in ((), ("calibrate",), ("nonsense",), ("calibrate", good, "--max-false-hits", "lots")):
        assert semroute("cache", *args).returncode == 2, args
