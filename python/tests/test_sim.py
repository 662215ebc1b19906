"""Runs: their numbers are the binary's, their errors too."""

import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import seaway

FIVE = {"duration": "5 s", "warmup": "0 s"}
DUMBBELL = """
schema = 1
name = "dumbbell"
duration = "6 s"
[[link]]
name = "bottleneck"
from = "sender"
to = "receiver"
both = true
rate = "2 Mbit/s"
delay = "20 ms"
queue = { kind = "drop-tail", time = "100 ms" }
[[flow]]
name = "video"
kind = "media"
control = "tfrc"
source = { kind = "saturated" }
from = "sender"
to = "receiver"
"""


def test_every_scenario_of_the_library_has_the_binarys_numbers_bit_for_bit(run_binary):
    def differs(name):
        short = ["--set", "duration=2 s", "--set", "warmup=0 s"]
        overrides = {"duration": "2 s", "warmup": "0 s"}
        theirs = run_binary("sim", name, "--json", "--no-timing", *short)
        try:
            ours = seaway.sim(name, overrides).json + "\n"
        except seaway.Error as problem:
            ours = f"seaway: {problem}\n"
        return ours != (theirs.stdout or theirs.stderr)

    names = seaway.scenarios()
    with ThreadPoolExecutor(2) as pool:
        wrong = [name for name, bad in zip(names, pool.map(differs, names)) if bad]
    assert len(names) > 40 and not wrong


@pytest.mark.parametrize("name", ["clean", "lossy-wifi", "squeeze", "rfc8867-5.1-50ms"])
def test_whole_runs_have_the_binarys_numbers_bit_for_bit(run_binary, name):
    theirs = run_binary("sim", name, "--json", "--no-timing", "--seed", "7")
    assert theirs.stdout == seaway.sim(name, seed=7).json + "\n"


def test_a_scenario_is_a_name_a_file_a_text_or_a_dict(tmp_path):
    file = tmp_path / "dumbbell.toml"
    file.write_text(DUMBBELL)
    as_dict = {
        "schema": 1,
        "name": "dumbbell",
        "duration": "6 s",
        "link": [
            {
                "name": "bottleneck",
                "from": "sender",
                "to": "receiver",
                "both": True,
                "rate": "2 Mbit/s",
                "delay": "20 ms",
                "queue": {"kind": "drop-tail", "time": "100 ms"},
            }
        ],
        "flow": [
            {
                "name": "video",
                "kind": "media",
                "control": "tfrc",
                "source": {"kind": "saturated"},
                "from": "sender",
                "to": "receiver",
            }
        ],
    }
    texts = {seaway.sim(scenario).json for scenario in (file, str(file), DUMBBELL, as_dict)}
    assert len(texts) == 1


def test_overrides_are_those_of_set(run_binary):
    theirs = run_binary("sim", "clean", "--json", "--no-timing", "--set", "duration=5 s", "--set", "warmup=0 s", "--set", "link.bottleneck.queue={ kind = \"drop-tail\", packets = 20 }")
    ours = seaway.sim("clean", {"duration": "5 s", "warmup": "0 s", "link.bottleneck.queue": {"kind": "drop-tail", "packets": 20}})
    assert theirs.stdout == ours.json + "\n"
    control = seaway.sim("clean", FIVE, control="nada").flow()["control"]
    assert control == "nada"


@pytest.mark.parametrize(
    ("scenario", "overrides"),
    [
        ("clen", []),
        ("clean", ["flow.vido.control=gcc"]),
        ("clean", ["flow.video.control=gccc"]),
        ("clean", ["flow.video.control=tfrc(foo=1)"]),
        ("clean", ["duration=5"]),
        ("clean", ["nonsense"]),
    ],
)
def test_errors_have_the_binarys_text(run_binary, scenario, overrides):
    theirs = run_binary("sim", scenario, *(word for text in overrides for word in ("--set", text)))
    assert theirs.returncode == 2
    with pytest.raises(seaway.InputError) as ours:
        seaway.sim(scenario, overrides)
    # Clap puts its own words around the text of an override that it cannot read.
    assert str(ours.value) in theirs.stderr


def test_an_unknown_type_is_refused():
    with pytest.raises(TypeError):
        seaway.sim(3)
    with pytest.raises(seaway.InputError, match="flow"):
        seaway.sim({"schema": 1, "name": "x", "duration": "1 s", "flow": 3})


def test_tables_are_read_by_pyarrow_and_hold_the_summary():
    pyarrow = pytest.importorskip("pyarrow")
    run = seaway.sim("lossy-wifi", {"duration": "8 s", "warmup": "1 s"}, series=True)
    flows = pyarrow.table(run.flows()).to_pylist()
    assert flows[0]["flow"] == "video" and flows[0]["received_bps"] == run.flow()["received_bps"]
    assert flows[0]["rtt_ms_p95"] == run.flow()["rtt_ms"]["p95"]
    series = pyarrow.table(run.series())
    assert series.column_names == ["time", "flow", "name", "value", "unit"] and len(series) > 1000
    assert "target_rate" in series["name"].unique().to_pylist()
    decisions = pyarrow.table(run.decisions())
    assert len(decisions) >= run.flow()["decisions"] > 0
    assert len(run.shown()["video"]) > 100
    assert len(seaway.sim("clean", {"duration": "1 s", "warmup": "0 s"}).series()) == 0


def test_the_series_are_the_binarys(run_binary, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    run_binary("sim", "clean", "--set", "duration=5 s", "--set", "warmup=0 s", "-o", "out", "--no-timing")
    theirs = parquet.read_table(tmp_path / "out" / "series.parquet").to_pylist()
    ours = pyarrow.table(seaway.sim("clean", FIVE, series=True).series()).to_pylist()
    assert ours == theirs


def test_polars_pandas_and_duckdb_read_a_table_in_place():
    table = seaway.sim("clean", {"duration": "3 s", "warmup": "0 s"}, series=True).series()
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(table)
    assert frame.height == len(table)
    duckdb = pytest.importorskip("duckdb")
    pyarrow = pytest.importorskip("pyarrow")
    readable = pyarrow.table(table)
    count = duckdb.sql("select count(*), max(value) from readable where name = 'sent_rate'").fetchall()[0]
    assert count[0] == frame.filter(polars.col("name") == "sent_rate").height
    pandas = pytest.importorskip("pandas")
    assert len(pandas.DataFrame.from_arrow(table)) == len(table) if hasattr(pandas.DataFrame, "from_arrow") else True


def test_progress_is_reported_and_its_exception_ends_the_run():
    steps = []
    seaway.sim("clean", {"duration": "6 s", "warmup": "0 s"}, progress=steps.append)
    assert abs(sum(steps) - 6.0) < 1e-9

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        seaway.sim("clean", progress=stop)


def test_threads_get_the_numbers_of_one():
    alone = [seaway.sim("clean", FIVE, seed=seed).json for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda seed: seaway.sim("clean", FIVE, seed=seed).json, range(4)))
    assert alone == together


def test_python_runs_while_a_run_goes_on():
    """Its lock is free: another thread counts meanwhile."""
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1

    beside = threading.Thread(target=count)
    beside.start()
    before = counted[0]
    seaway.sim("rfc8867-5.1-50ms")
    after = counted[0]
    done.set()
    beside.join()
    assert after > before + 1000


def test_lists():
    assert "lossy-wifi" in seaway.scenarios()
    assert seaway.controllers()["gcc"]["options"]["feedback"]["range"] == "5 ms to 1 s"
    assert "S000-T1" in seaway.experiments()
    assert seaway.check("clean") == ["video"]


def test_the_version_is_the_binarys(run_binary):
    number, _, commit = seaway.__version__.partition("+")
    assert run_binary("--version").stdout.split()[1].startswith(number)
    assert not commit or re.fullmatch(r"[0-9a-f]{12}(\.modified)?", commit)
    assert json.loads(seaway.sim("clean", {"duration": "1 s", "warmup": "0 s"}).json)["seaway"] == seaway.__version__
