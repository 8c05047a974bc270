#!/usr/bin/env python3
"""Compares two builds of semroute: runs the same benchmarks with both, alternately, and prints medians and spreads.

    tools/compare_builds.py OLD NEW [--bench "gateway --seconds 2"] ... [--rounds 5] [--markdown]

OLD and NEW are binaries. Each round runs OLD, then NEW, so both see the same machine. A figure of NEW counts as
within the spread when its median lies between the least and the greatest figure of OLD. Asserts nothing about time.
"""
import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys

BENCHES = ("scan", "decide", "gateway --repeats 1 --seconds 2", "extproc --quick --repeats 1", "guards --no-peer --repeats 1")
LABELS = (str, bool)
SKIP = {"bytes", "threads", "requests", "peer_us", "clients", "tokens", "repeats", "connections", "errors", "goals", "load_average",
        "jansson_us", "jansson_gb_per_s"}


def run(binary, bench):
    """One JSON document of one run."""
    out = subprocess.run([binary, "bench", *shlex.split(bench), "--json"], stdout=subprocess.PIPE, check=True, text=True,
                         cwd=os.path.dirname(os.path.dirname(os.path.abspath(binary))))
    return json.loads(out.stdout.strip().splitlines()[-1])


def figures(value, path=()):
    """(label, number) of every measured number; rows are named by what identifies them."""
    if isinstance(value, dict):
        name = [f"{value[k]}" for k in value if isinstance(value[k], LABELS) and k not in ("machine", "bench")]
        name += [f"{k}={value[k]}" for k in ("bytes", "tokens", "clients") if isinstance(value.get(k), (int, float))]
        for key, inner in value.items():
            if key in SKIP or key in ("machine", "bench"):
                continue
            if isinstance(inner, (dict, list)):
                yield from figures(inner, path + tuple(name if key == "rows" else name + [key]))
            elif isinstance(inner, (int, float)) and not isinstance(inner, bool):
                yield " ".join(path + tuple(name) + (key,)), float(inner)
    elif isinstance(value, list):
        for item in value:
            yield from figures(item, path)


def collect(binary, bench, into):
    for label, number in figures(run(binary, bench)):
        into.setdefault(label, []).append(number)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--bench", action="append", help="a benchmark with its options; several are allowed")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    for bench in args.bench or BENCHES:
        old, new = {}, {}
        for turn in range(args.rounds):
            collect(args.old, bench, old)
            collect(args.new, bench, new)
            print(f"{bench}: round {turn + 1} of {args.rounds}", file=sys.stderr)
        inside = 0
        print(f"\n### {bench}\n\n| figure | old | old least | old greatest | new | new / old |\n|---|---:|---:|---:|---:|---:|")
        for label, numbers in old.items():
            if label not in new:
                continue
            middle, other = statistics.median(numbers), statistics.median(new[label])
            inside += min(numbers) <= other <= max(numbers)
            ratio = f"{other / middle:.3f}" if middle else "-"
            print(f"| {label} | {middle:.4g} | {min(numbers):.4g} | {max(numbers):.4g} | {other:.4g} | {ratio} |")
        shared = [n for n in old if n in new]
        ratios = [statistics.median(new[n]) / statistics.median(old[n]) for n in shared if statistics.median(old[n])]
        print(f"\n{inside} of {len(shared)} figures of new lie within the spread of old; median ratio "
              f"{statistics.median(ratios):.3f}" if ratios else "\nno figures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
