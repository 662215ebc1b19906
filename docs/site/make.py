#!/usr/bin/env python3
"""Builds the site: the documents as a book, the playground, the scorecard and the API, without a server.

make.py MDBOOK PLAYGROUND SCORECARD API OUT

The order of the pages is that of the links in docs/README.md. Every page of docs must be reached from there. All relative links
of the result are checked, anchors included.
"""

import html.parser
import os
import re
import shutil
import subprocess
import sys
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Names of files of the book, which are not in the tree.
MARKDOWN = ".md"
INDEX, SUMMARY = (name + MARKDOWN for name in ("index", "SUMMARY"))
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^(```.*?^```[ \t]*$)", re.M | re.S)
# A figure of each paper that the page of live figures opens with.
FIRST_FIGURES = {"s000": "F12", "s001": "F5b", "s002": "F7", "s003": "F3", "s004": "F4"}
BESIDE = """
[Playground](playground/index.html): controllers side by side in your browser ·
[Papers](playground/papers.html): their figures, run in your browser ·
[Scorecard](scorecard/index.html): every controller over the cases of RFC 8867 ·
[API](api/seaway_control/index.html): the crates
"""


def is_external(link):
    return bool(urllib.parse.urlsplit(link).scheme) or link.startswith("#")


def links(text):
    """The relative links of a document that stand outside code."""
    prose = FENCE.sub("", text)
    return [match[2] for match in LINK.finditer(prose) if not is_external(match[2])]


def title(path):
    heading = re.search(r"^# (.+)$", path.read_text(), re.M)
    if not heading:
        sys.exit(f"{path}: no title")
    return heading[1]


def target(page, link):
    """The path that a link of a page leads to, relative to the root."""
    path = urllib.parse.unquote(link.split("#")[0])
    path = Path(os.path.normpath(page.parent / path))
    return path / "README.md" if (ROOT / path / "README.md").is_file() else path


def source_name(path):
    """Where a document stands in the source of the book."""
    return path.with_name(INDEX) if path.name == "README.md" else path


def pages_of(folder):
    return sorted(path.relative_to(ROOT) for path in (ROOT / folder).glob("*.md") if path.name != "README.md")


def order():
    """Pairs of a page and its depth, in the order of docs/README.md; folders are pages with pages below them."""
    index = Path("docs/README.md")
    found = [(Path("README.md"), 0), (index, 0)]
    for link in links((ROOT / index).read_text()):
        path = target(index, link)
        if (ROOT / path).is_dir():
            found.append((path, 0))
            found.extend((page, 1) for page in pages_of(path))
        elif path.suffix == ".md":
            found.append((path, 0))
    # A page that is named by itself and in its folder stands where it is first.
    listed = {}
    for page, depth in found:
        listed.setdefault(page, depth)
    missing = [path for path in (ROOT / "docs").rglob("*.md") if path.relative_to(ROOT) not in listed]
    if missing:
        sys.exit("docs/README.md leads not to " + ", ".join(str(path.relative_to(ROOT)) for path in missing))
    return list(listed.items())


def playground_links(page):
    """For the page of a paper: its scenarios, live."""
    if page.parent != Path("docs/papers") or page.stem == "robust":
        return ""
    scenarios = sorted((ROOT / "scenarios/papers").glob(f"{page.stem}*.toml"))
    live = [path.stem for path in scenarios if 'kind = "media"' in path.read_text()]
    if not live:
        return ""
    entries = ", ".join(f"[{name}](../../playground/index.html#network={name}&controls=as-written,seaway)" for name in live)
    figures = f"[live](../../playground/papers.html#figure={page.stem.upper()}-{FIRST_FIGURES[page.stem]})"
    return f"\nIts figures {figures}. Its networks in the playground, also under other controllers: {entries}.\n"


def rewritten(page, text, extra):
    """The document with its links as the book has them. Notes in `extra` what they lead to."""

    def link(match):
        if is_external(match[2]):
            return match[0]
        path = target(page, match[2])
        if not (ROOT / path).exists():
            sys.exit(f"{page}: {match[2]} leads nowhere")
        extra.add(path)
        anchor = match[2].partition("#")[2]
        if (ROOT / path).is_dir():
            path = path / INDEX
        to = os.path.relpath(source_name(path), page.parent)
        return match[1] + to + ("#" + anchor if anchor else "") + match[3]

    parts = FENCE.split(text)
    return "".join(part if part.startswith("```") else LINK.sub(link, part) for part in parts)


def folder_page(folder):
    """A page that lists a folder."""
    files = pages_of(folder) or sorted(path.relative_to(ROOT) for path in (ROOT / folder).iterdir() if path.is_file())
    name = lambda path: title(ROOT / path) if path.suffix == ".md" else path.name
    rows = "".join(f"* [{name(path)}]({path.name})\n" for path in files)
    return f"# {folder.name.capitalize()}\n\n{rows}", files


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def write_source(source):
    """The book's source and its summary."""
    summary, extra, done = ["# Summary\n"], set(), set()
    chapters = order()
    for page, depth in chapters:
        done.add(page)
        if (ROOT / page).is_dir():
            text, files = folder_page(page)
            extra.update(files)
            put(source / "src" / page / INDEX, text)
            summary.append(f"- [{page.name.capitalize()}]({page}/{INDEX})")
            continue
        text = rewritten(page, (ROOT / page).read_text(), extra)
        head, _, rest = text.partition("\n")
        beside = BESIDE if page == Path("README.md") else playground_links(page)
        put(source / "src" / source_name(page), head + "\n" + beside + rest)
        summary.append(f"{'    ' * depth}- [{title(ROOT / page)}]({source_name(page)})")
    # What the pages lead to beside pages of the order: pages of other folders, and files.
    while extra - done:
        path = sorted(extra - done)[0]
        done.add(path)
        if (ROOT / path).is_dir():
            text, files = folder_page(path)
            extra.update(files)
            put(source / "src" / path / INDEX, text)
            summary.append(f"- [{path.name.capitalize()}]({path}/{INDEX})")
        elif path.suffix == ".md":
            put(source / "src" / source_name(path), rewritten(path, (ROOT / path).read_text(), extra))
            summary.append(f"- [{title(ROOT / path)}]({source_name(path)})")
        else:
            (source / "src" / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, source / "src" / path)
    put(source / "src" / SUMMARY, "\n".join(summary) + "\n")
    for name in ("book.toml", "site.css", "menu.js"):
        shutil.copy(Path(__file__).parent / name, source / name)


class Document(html.parser.HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            if name in ("href", "src") and value and tag != "base":
                self.links.append(value)


def check(out):
    """Every relative link of the book leads to a file, and its anchor to a place in it. Returns how many there are."""
    pages = [path for path in sorted(out.rglob("*.html")) if "api" not in path.relative_to(out).parts]
    # The page for a server's error 404 has absolute links.
    documents = {path: Document(path) for path in pages if path.name != "404.html"}
    broken, count = [], 0
    for page, document in documents.items():
        for link in document.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            to = (page.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else page
            if not to.is_file():
                broken.append(f"{page.relative_to(out)}: {link}")
            elif parts.fragment and to in documents and "=" not in parts.fragment:
                if urllib.parse.unquote(parts.fragment) not in documents[to].anchors:
                    broken.append(f"{page.relative_to(out)}: {link}: no such place in it")
    if broken or count < 1000:
        sys.exit("broken links:\n" + "\n".join(broken) + f"\n{len(broken)} of {count}")
    return count, len(documents)


def main():
    mdbook, playground, scorecard, api, out = (Path(argument).resolve() for argument in sys.argv[1:])
    source = out.with_name("site-source")
    for folder in (source, out):
        shutil.rmtree(folder, ignore_errors=True)
    write_source(source)
    subprocess.run([mdbook, "build", source, "--dest-dir", out], check=True)
    shutil.copytree(api, out / "api", ignore=shutil.ignore_patterns(".lock"))
    for name, part, pages in (("playground", playground, ["index", "papers"]), ("scorecard", scorecard, ["index"])):
        (out / name).mkdir()
        for each in pages:
            shutil.copy(part / f"{each}.html", out / name / f"{each}.html")
    count, pages = check(out)
    print(f"site: {pages} pages, {count} links lead somewhere; open {out}/index.html")


main()
