"""Which file of src/ includes, calls and names what of which other file, read from the source text itself.

A unit is a .c or .cc file with the header of its name beside it; a header without one is a unit of its own. A unit
defines its functions and variables with external linkage and what its header defines inline; it uses a name where the
name stands in its text, other than in a declaration or as the tag of a type. Types and macros are no calls. Nothing
here runs a compiler: names made by token pasting (src/kernel/*_template.h) are not seen.
"""
import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
PUBLIC = "include/semroute/semroute.h"

COMMENT_OR_LITERAL = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", re.MULTILINE)
DEFINE = re.compile(r"#[ \t]*define[ \t]+[A-Za-z_]\w*(?:\([^)]*\))?(.*)", re.DOTALL)
TAG = re.compile(r"\b(?:struct|union|enum)\s+\w+")
NAME = re.compile(r"[A-Za-z_]\w*")
TOKEN = re.compile(r"[A-Za-z_]\w*|[{}()\[\];=,]")


def unit_of(path):
    """src/a/b.c and src/a/b.h -> a/b; a header with no source of its name keeps its ending."""
    rel = path.relative_to(SRC)
    if path.suffix == ".h" and not any(path.with_suffix(s).exists() for s in (".c", ".cc")):
        return rel.as_posix()
    return rel.with_suffix("").as_posix()


def blank(text):
    """The text without comments, and with empty literals; line numbers stay."""
    def shorter(match):
        found = match.group(0)
        if found[0] == "/":
            return " " + "\n" * found.count("\n")
        return found[0] + found[0]
    return COMMENT_OR_LITERAL.sub(shorter, text)


def declarations(code):
    """The code without directives, cut at file scope: (head, body, is_function) each."""
    code = re.sub(r'extern\s+""\s*\{', " ", code)
    start, depth, round_depth, body_at, begun = 0, 0, 0, None, False
    for match in TOKEN.finditer(code):
        token = match.group(0)
        if token in "([":
            round_depth += 1
        elif token in ")]":
            round_depth -= 1
        elif token == "{":
            if depth == 0:
                head = code[start:match.start()]
                body_at = body_at or match.start()
                begun = "=" not in TOKEN.findall(head) and bool(re.search(r"\)\s*(?:SR_\w+\s*)*$", head))
            depth += 1
        elif token == "}":
            depth = max(depth - 1, 0)
            if depth == 0 and begun and round_depth == 0:
                yield code[start:body_at], code[body_at:match.end()], True
                start, body_at, begun = match.end(), None, False
        elif token == ";" and depth == 0 and round_depth == 0:
            at = body_at or match.start()
            head, body = code[start:at], code[at:match.end()]
            equals = re.search(r"(?<![=!<>])=(?!=)", head)
            if equals:
                head, body = head[:equals.start()], head[equals.start():] + body
            yield head, body, False
            start, body_at = match.end(), None


def function_name(head):
    """The name before the parameter list: the last top-level name( of the head."""
    depth, found = 0, None
    for match in re.finditer(r"([A-Za-z_]\w*)?\s*(\()|\)", head):
        if match.group(0) == ")":
            depth -= 1
            continue
        if depth == 0 and match.group(1) and match.group(1) not in ("__attribute__", "_Alignas", "__typeof__"):
            found = found or match.group(1)
        depth += 1
    return found


def variable_name(head):
    bare = re.sub(r"\[[^\]]*\]", "", head)
    bare = re.sub(r"\([^()]*\)\s*$", "", bare).rstrip()
    match = re.search(r"\(\s*\*\s*(?:const\s+)?([A-Za-z_]\w*)\s*\)|([A-Za-z_]\w*)\s*$", bare)
    return match and (match.group(1) or match.group(2))


class Unit:
    def __init__(self, name):
        self.name = name
        self.layer, *rest = name.split("/")
        self.room = "/".join(name.split("/")[:-1])
        self.defines = set()   # with external linkage, or inline in the header
        self.local = set()     # static names: they hide those of other units
        self.names = collections.Counter()
        self.includes = []     # (path from src/, line, file)
        self.lines = 0
        self.words = set()     # of its header, without comments
        self.paths = []

    @property
    def header(self):
        return self.name if self.name.endswith(".h") else self.name + ".h"

    def read(self, path):
        text = path.read_text()
        self.lines += text.count("\n")
        self.paths.append(path)
        header = path.suffix == ".h"
        code = COMMENT_OR_LITERAL.sub(lambda m: m.group(0) if m.group(0)[0] != "/" else " " + "\n" * m.group(0).count("\n"),
                                      text)
        for match in INCLUDE.finditer(code):
            self.includes.append((match.group(1), match.group(2), code.count("\n", 0, match.start()) + 1, path))
        code = blank(text)
        if header:
            self.words.update(NAME.findall(code))
            # `extern ... sr_x_##name` over a list of X(name, ...) declares each of them
            for prefix in re.findall(r"\bextern\b[^;\n]*?(\w+)##\w+", code):
                self.words.update(prefix + name for name in re.findall(r"\bX\((\w+)", code))
        for match in DIRECTIVE.finditer(code):
            macro = DEFINE.search(match.group(0))
            if macro:
                self._uses(macro.group(1))
        for head, body, function in declarations(DIRECTIVE.sub("", code)):
            self._declaration(head, body, function, header)

    def _uses(self, code):
        self.names.update(NAME.findall(TAG.sub(" ", code)))

    def _declaration(self, head, body, function, header):
        static = re.search(r"\bstatic\b", head)
        if function:
            name = function_name(head)
            (self.local if static and not header else self.defines).add(name)
            self._uses(body)
            return
        value = body.startswith("=")
        if re.match(r"\s*typedef\b", head) or (body.startswith("{") and not value):
            return  # a type
        if value or (not header and not re.search(r"\bextern\b", head) and len(NAME.findall(TAG.sub("type ", head))) > 1 and "(" not in head):
            name = variable_name(head)
            (self.local if static and not header else self.defines).add(name)
        self._uses(body)


class Graph:
    """units by name, calls and includes as {unit: {unit: count}}, over all of src/."""
    def __init__(self):
        self.units = {}
        for path in sorted(p for ext in ("c", "cc", "h") for p in SRC.rglob(f"*.{ext}")):
            name = unit_of(path)
            self.units.setdefault(name, Unit(name)).read(path)
        owner = {}
        for unit in self.units.values():
            for name in unit.defines:
                owner[name] = None if name in owner else unit.name  # a template's names have many owners: no edge
        self.owner = owner
        self.public = set(NAME.findall(blank((ROOT / PUBLIC).read_text())))
        self.calls = {name: collections.Counter() for name in self.units}
        self.symbols = collections.defaultdict(set)
        self.includes = {name: collections.Counter() for name in self.units}
        for unit in self.units.values():
            for name, count in unit.names.items():
                other = owner.get(name)
                if other and other != unit.name and name not in unit.local and name not in unit.defines:
                    self.calls[unit.name][other] += count
                    self.symbols[unit.name, other].add(name)
            for own, _, _, _ in unit.includes:
                target = SRC / own if own else None
                if target and target.exists():
                    other = unit_of(target)
                    if other != unit.name:
                        self.includes[unit.name][other] += 1

    def declared(self, unit):
        """{name: headers of the unit's folder, of its layer or installed} for each name with external linkage."""
        if not any(path.suffix != ".h" for path in unit.paths):
            return {}
        near = [other for other in self.units.values() if other.room in (unit.room, unit.layer)]
        names = {name for name in unit.defines if self.owner[name] == unit.name and name != "main"}
        return {name: [other.header for other in near if name in other.words] + ([PUBLIC] if name in self.public else [])
                for name in names}

    def cycles(self, edges=None, keep=lambda a, b: True):
        """Strongly connected components of two or more nodes, each a sorted tuple; edges default to calls."""
        edges = self.calls if edges is None else edges
        return components({a: [b for b in edges[a] if keep(a, b)] for a in edges})


def components(edges):
    """Tarjan's strongly connected components of two or more nodes (Tarjan 1972), without recursion."""
    index, low, on, stack, out = {}, {}, set(), [], []
    for root in sorted(edges):
        if root in index:
            continue
        work = [(root, iter(sorted(edges[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on.add(root)
        while work:
            node, successors = work[-1]
            for other in successors:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on.add(other)
                    work.append((other, iter(sorted(edges.get(other, ())))))
                    break
                if other in on:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = []
                    while True:
                        other = stack.pop()
                        on.discard(other)
                        group.append(other)
                        if other == node:
                            break
                    if len(group) > 1:
                        out.append(tuple(sorted(group)))
    return sorted(out, key=lambda g: (-len(g), g))
