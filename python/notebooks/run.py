"""Runs the notebooks beside this file and writes them, with their results, into the folder that is named."""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient


def main() -> None:
    """Runs all; the first exception ends it."""
    into = Path(sys.argv[1])
    into.mkdir(parents=True, exist_ok=True)
    for path in sorted(Path(__file__).parent.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        NotebookClient(notebook, timeout=600).execute()
        nbformat.write(notebook, into / path.name)
        print(f"{path.name}: {sum(cell.cell_type == 'code' for cell in notebook.cells)} cells")


main()
