"""Sweeps: in memory, into folders, by shards."""

import os
import subprocess
import sys

import pytest
import seaway
from seaway._api import setup_sweep

pyarrow = pytest.importorskip("pyarrow")

PLAN = """
schema = 1
scenario = ["clean", "lossy-wifi"]
control = ["fixed", "tfrc"]
seeds = 2
[parameters]
duration = ["4 s"]
warmup = ["1 s"]
"""


def options():
    return {"parameters": {"duration": ["4 s"], "warmup": ["1 s"]}, "seeds": 2}


def test_a_row_a_run_and_flow_with_parameters_as_columns():
    table = seaway.sweep(
        ["clean", "lossy-wifi"], ["tfrc", "gcc"], seeds=[3, 4], parameters={"duration": ["3 s", "4 s"], "warmup": ["0 s"]}
    )
    rows = pyarrow.table(table).to_pylist()
    assert len(rows) == 16
    assert [row["run"] for row in rows] == list(range(16))
    row = rows[5]
    assert (row["scenario"], row["controller"], row["duration"], row["seed"]) == ("clean", "gcc", "3 s", 4)
    alone = seaway.sim("clean", {"duration": "3 s", "warmup": "0 s"}, control="gcc", seed=4).flow()
    assert row["received_bps"] == alone["received_bps"] and row["packets_sent"] == alone["packets"]["sent"]


def test_numbers_of_parameters_stay_numbers():
    table = seaway.sweep("lossy-wifi", "tfrc", parameters={"duration": ["3 s"], "warmup": ["0 s"], "link.bottleneck.loss.mean": [0.01, 0.1]})
    read = pyarrow.table(table)
    assert read["link.bottleneck.loss.mean"].to_pylist() == [0.01, 0.1]
    assert read["loss_ratio"][1].as_py() > read["loss_ratio"][0].as_py()


def test_threads_and_laws_change_nothing():
    laws = {"steady": lambda rate=4e5: lambda now, feedback: rate}
    tables = [
        pyarrow.table(seaway.sweep("clean", ["steady(rate=6e5)", "fixed"], controllers=laws, threads=threads, **options()))
        for threads in (1, 3)
    ]
    assert tables[0].equals(tables[1])


def test_a_plan_in_a_folder_is_the_binarys(run_binary, tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    assert run_binary("sweep", "plan.toml", "-o", "theirs").returncode == 0
    sweep = seaway.Sweep.read(tmp_path / "plan.toml")
    assert len(sweep) == 8
    assert sweep.run_into(tmp_path / "ours", shard=(2, 2)) == 4
    assert sweep.run_into(tmp_path / "ours", shard=(1, 2)) == 0
    octets = [(tmp_path / name / "runs.parquet").read_bytes() for name in ("ours", "theirs")]
    assert octets[0] == octets[1]
    parquet = pytest.importorskip("pyarrow.parquet")
    in_memory = pyarrow.table(sweep.run())
    assert parquet.read_table(tmp_path / "ours" / "runs.parquet").to_pylist() == in_memory.to_pylist()


def test_killed_shards_are_resumed_to_the_same_bytes(run_binary, tmp_path):
    """A process that dies in the middle leaves whole runs only."""
    (tmp_path / "plan.toml").write_text(PLAN.replace('"4 s"', '"30 s"').replace("seeds = 2", "seeds = 8"))
    assert run_binary("sweep", "plan.toml", "-o", "whole").returncode == 0
    code = (
        "import os, seaway; done = []\n"
        "def progressed(passed):\n"
        "    done.append(passed)\n"
        "    if sum(done) > 200: os._exit(9)\n"
        "seaway.Sweep.read('plan.toml').run_into('parts', progress=progressed)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=False)
    assert killed.returncode == 9
    made = list((tmp_path / "parts" / "runs").rglob("*.json"))
    assert 0 < len(made) < 32
    assert run_binary("sweep", "plan.toml", "-o", "parts", "--resume").returncode == 0
    octets = [(tmp_path / name / "runs.parquet").read_bytes() for name in ("whole", "parts")]
    assert octets[0] == octets[1]


def test_mistakes_are_found_before_anything_runs(tmp_path):
    for wrong in (
        {"control": "gccc"},
        {"control": "gcc", "parameters": {"duration": ["5"]}},
        {"control": "gcc", "seeds": []},
    ):
        with pytest.raises(seaway.InputError):
            setup_sweep("clean", **wrong)
    sweep = setup_sweep("clean", "fixed", **options())
    with pytest.raises(seaway.InputError, match="shard"):
        sweep.run_into(tmp_path / "out", shard=(3, 2))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("all of it")
    with pytest.raises(seaway.InputError, match="no folder of a sweep"):
        sweep.run_into(tmp_path / "full")
