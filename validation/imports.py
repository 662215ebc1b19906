#!/usr/bin/env python3
"""Which files import each other in a circle: `validation/imports.py [CRATE…]`, all crates by default.

An import is a `use` or a path that begins with `crate`, `self`, `super` or a child module; it counts to the file that defines what is
imported, past re-exports, which are no imports themselves. Modules of tests are left out. Prints the circles and the longest way from
one file to another by the fewest imports; ends with 1 where a circle has over ten files.
"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST = 10
ITEM = r"\b(?:struct|enum|trait|fn|const|static|type|union|macro_rules!)\s+%s\b"
TEST = re.compile(r"#\[cfg\(test\)\]\s*(?:pub\s+)?(?:mod\s+\w+\s*\{|mod\s+\w+;|use[^;]*;)")
USE = re.compile(r"(pub\s+)?\buse\s+([^;]+);")
PATH = re.compile(r"\b(crate|super|self)((?:::\w+)+)")

Import = collections.namedtuple("Import", "is_public path alias")


class Module:
    def __init__(self, file):
        self.file, self.children = file, set()
        self.text = source(file.read_text())
        self.imports = [
            Import(bool(public), path, alias) for public, tree in USE.findall(self.text) for path, alias in leaves(tree)
        ]
        body = USE.sub("", self.text)
        self.imports += [Import(False, (first, *rest[2:].split("::")), None) for first, rest in PATH.findall(body)]


def source(text):
    """Without comments, visibilities and tests."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"pub\((?:in [\w:]+|crate|super|self)\)", "pub", text)
    while found := TEST.search(text):
        end = found.end()
        if text[end - 1] == "{":
            depth = 1
            while depth and end < len(text):
                depth += (text[end] == "{") - (text[end] == "}")
                end += 1
        text = text[: found.start()] + text[end:]
    return text


def leaves(tree, before=()):
    """The paths of a tree of imports, each with the name that it gets."""
    head, brace, inner = tree.strip().partition("{")
    path, _, alias = head.strip().partition(" as ")
    path = (*before, *(part.strip() for part in path.split("::") if part.strip()))
    if not brace:
        path = path[:-1] if path[-1:] == ("self",) else path
        return [(path, alias.strip() or path[-1])] if path else []
    found, depth, part = [], 0, ""
    for letter in inner[: inner.rfind("}")] + ",":
        if letter == "," and depth == 0:
            found += leaves(part, path) if part.strip() else []
            part = ""
        else:
            depth += (letter == "{") - (letter == "}")
            part += letter
    return found


def load(crate):
    """The modules of a crate by their paths."""
    modules = {}

    def add(path, file):
        module = modules[path] = Module(file)
        folder = file.parent if file.stem in ("lib", "main", "mod") else file.with_suffix("")
        for name in re.findall(r"\bmod\s+(\w+)\s*;", module.text):
            child = next((way for way in (folder / f"{name}.rs", folder / name / "mod.rs") if way.exists()), None)
            if child:
                module.children.add(name)
                inside = re.findall(rf"(?<![\w:]){name}((?:::\w+)+)", USE.sub("", module.text))
                module.imports += [Import(False, ("self", name, *rest[2:].split("::")), None) for rest in inside]
                add((*path, name), child)

    add((), next(file for file in (crate / "src/lib.rs", crate / "src/main.rs") if file.exists()))
    return modules


def begin(modules, at, path):
    """The module that a path starts from, and the rest of the path; `None` for another crate's."""
    if path[0] == "crate":
        return (), path[1:]
    if path[0] == "self":
        return at, path[1:]
    while path and path[0] == "super":
        at, path = at[:-1], path[1:]
        if not path or path[0] != "super":
            return at, path
    return (at, path) if path[0] in modules[at].children else None


def define(modules, at, path, depth=0):
    """The module that defines what a path names; `None` for another crate's."""
    start = begin(modules, at, path) if path and depth < 12 else None
    if start is None:
        return None
    at, rest = start
    while rest and rest[0] in modules[at].children:
        at, rest = (*at, rest[0]), rest[1:]
    if not rest or rest[0] == "*" or re.search(ITEM % rest[0], modules[at].text):
        return at
    named = [way for way in modules[at].imports if way.alias == rest[0]]
    for way in named:
        return define(modules, at, (*way.path, *rest[1:]), depth + 1) or at
    for way in modules[at].imports:
        folder = define(modules, at, way.path, depth + 1) if way.alias == "*" else None
        found = folder is not None and folder != at and define(modules, folder, ("self", *rest), depth + 1)
        if found and (found != folder or re.search(ITEM % rest[0], modules[folder].text)):
            return found
    return at


def graph(modules):
    edges = {module.file: set() for module in modules.values()}
    for at, module in modules.items():
        targets = [define(modules, at, way.path) for way in module.imports if not way.is_public]
        edges[module.file] |= {modules[target].file for target in targets if target is not None} - {module.file}
    return edges


def reach(edges, start):
    """The files on the shortest way from one file to each that it needs, both ends counted."""
    files, waiting = {start: 1}, collections.deque([start])
    while waiting:
        file = waiting.popleft()
        for other in edges[file] - files.keys():
            files[other] = files[file] + 1
            waiting.append(other)
    return files


def main():
    crates = [ROOT / "crates" / name for name in sys.argv[1:]] or sorted((ROOT / "crates").iterdir())
    is_wrong = False
    for crate in crates:
        edges = graph(load(crate))
        needs = {file: reach(edges, file) for file in edges}
        circles = {frozenset(other for other in needs[file] if file in needs[other]) for file in edges}
        sizes = sorted((len(circle) for circle in circles if len(circle) > 1), reverse=True)
        longest = max(max(files.values()) for files in needs.values())
        print(f"{crate.name}: {len(edges)} files, circles of {sizes or 'none'}, longest way {longest}")
        for circle in circles:
            if len(circle) > MOST:
                is_wrong = True
                print("  " + " ".join(sorted(str(file.relative_to(crate / "src")) for file in circle)))
    return is_wrong


if __name__ == "__main__":
    sys.exit(main())
