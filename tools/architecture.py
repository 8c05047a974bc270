#!/usr/bin/env python3
"""Writes docs/internals/architecture.md from the source text: layers, rooms, and what includes and calls what.

`--check` fails when an arrow, a layer or a room of the page is not the code's. Counts may lag behind: they
change with every commit, and are brought up to date by running this script.
"""
import collections
import re
import sys
import textwrap

import callgraph
import lint_layers
from callgraph import ROOT

PAGE = ROOT / "docs" / "internals" / "architecture.md"
HEAD = """# What calls what

`tools/architecture.py` writes this page from the code; do not edit it. The test `architecture` fails when an arrow is
not the code's: run the script again then. An arrow reads "uses". A count `5/38` is 5 `#include` lines and 38 places
that name a function or variable of the other side; an arrow inside a layer has the places alone. No
files of a layer call each other in a circle. `tools/callgraph.py` says how calls are counted and what is not seen,
`tools/lint_layers.py` what is allowed.
"""


def order(layers):
    """Lowest first: a layer after all that it may include."""
    done = []
    while len(done) < len(layers):
        ready = [a for a in lint_layers.ALLOWED if a in layers and a not in done and
                 not (lint_layers.ALLOWED[a] & layers) - set(done)]
        done += ready[:1]
    return done


def reduced(edges):
    """The edges without those that a longer way replaces."""
    def reach(a, seen):
        for b in edges.get(a, ()):
            if b not in seen:
                seen.add(b)
                reach(b, seen)
        return seen
    return {a: [b for b in edges[a] if not any(b in reach(c, set()) for c in edges[a] if c != b)] for a in edges}


def wrapped(text):
    return textwrap.fill(text, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def node(name):
    return re.sub(r"\W", "_", name)


def mermaid(nodes, edges, direction="TD"):
    """nodes: {name: label}; edges: {(a, b): label or None}."""
    lines = ["```mermaid", f"flowchart {direction}"]
    lines += [f"    {node(name)}[\"{label}\"]" for name, label in nodes.items()]
    lines += [f"    {node(a)} -->{'|' + label + '|' if label else ''} {node(b)}" for (a, b), label in edges.items()]
    return "\n".join(lines + ["```", ""])


def between_layers(graph, layers):
    includes, calls = collections.Counter(), collections.Counter()
    for counts, of in ((includes, graph.includes), (calls, graph.calls)):
        for a in of:
            for b, n in of[a].items():
                counts[a.split("/")[0], b.split("/")[0]] += n
    edges = {a: [b for b in layers if a != b and includes[a, b] + calls[a, b]] for a in layers}
    sizes = collections.Counter()
    for unit in graph.units.values():
        sizes[unit.layer] += len(unit.paths)
    drawn = {(a, b): None for a, uses in reduced(edges).items() for b in uses}
    yield "## Between layers\n"
    yield "The highest layer first. An arrow that a longer way replaces is left out of the drawing; the list has all.\n"
    yield mermaid({a: f"{a}<br>{sizes[a]} files" for a in reversed(layers)}, drawn)
    for a in layers:
        uses = [f"{b} {includes[a, b]}/{calls[a, b]}" for b in edges[a]]
        yield wrapped(f"- **{a}** uses {', '.join(uses) if uses else 'no other'}; {includes[a, a]}/{calls[a, a]} inside.")


def inside(graph, layer):
    """The rooms of a layer; a file beside them stands for itself."""
    def place(name):
        unit = graph.units[name]
        return unit.room if unit.room != layer else name
    calls, files = collections.Counter(), collections.Counter()
    for name, unit in graph.units.items():
        if unit.layer != layer:
            continue
        files[place(name)] += len(unit.paths) if unit.room != layer else 0
        for other, n in graph.calls[name].items():
            if graph.units[other].layer == layer and place(other) != place(name):
                calls[place(name), place(other)] += n
    if not calls:
        return
    joined = {end for pair in calls for end in pair}
    nodes = {name: (f"{name[len(layer) + 1:]}/<br>{files[name]} files" if files[name] else name[len(layer) + 1:])
             for name in sorted(files) if name in joined}
    alone = [name[len(layer) + 1:] for name in sorted(files) if name not in joined]
    yield f"\n### {layer}\n"
    yield mermaid(nodes, {pair: str(n) for pair, n in sorted(calls.items())}, "LR")
    if alone:
        yield wrapped(f"No calls to or from the others: {', '.join(alone)}.") + "\n"


def headers(graph):
    """Each file has the header of its name, or stands here."""
    shared = collections.defaultdict(set)
    for unit in graph.units.values():
        for name, found in graph.declared(unit).items():
            if unit.header not in found:
                for header in found:
                    shared[header].add(unit.name)
    yield "\n## Headers that several files share\n"
    yield "A file whose names are not, or not all, in a header of its own name.\n"
    for header, names in sorted(shared.items()):
        folder = header.rsplit("/", 1)[0] + "/"
        short = sorted(name[len(folder):] if name.startswith(folder) else name for name in names)
        yield wrapped(f"- `{header}`: {', '.join(short)}")


def page():
    graph = callgraph.Graph()
    layers = order({unit.layer for unit in graph.units.values()})
    parts = [HEAD, *between_layers(graph, layers), "\n## Inside layers"]
    for layer in layers:
        parts += inside(graph, layer)
    return "\n".join([*parts, *headers(graph)]) + "\n"


def main():
    text = page()
    if sys.argv[1:] == ["--check"]:
        there = PAGE.read_text() if PAGE.exists() else ""
        if re.sub(r"\s+", " ", re.sub(r"\d+", "0", there)) != re.sub(r"\s+", " ", re.sub(r"\d+", "0", text)):
            print("docs/internals/architecture.md is not the code's; run python3 tools/architecture.py")
            return 1
        return 0
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
