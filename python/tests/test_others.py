"""compare, score, shape, reproduce, plots."""

import json
from pathlib import Path

import pytest
import seaway

LOSS = "link.bottleneck.loss.mean"
LOSSES = {"duration": ["3 s"], "warmup": ["0 s"], LOSS: [0.01, 0.1]}
CLIP = {"duration": "2 s", "warmup": "0 s"}


def test_compare_is_the_binarys(run_binary):
    ours = seaway.compare("squeeze", ["tfrc", "fixed"], CLIP)
    theirs = run_binary("compare", "squeeze", "--control", "tfrc,fixed", "--set", "duration=2 s", "--set", "warmup=0 s", "--json", "--no-cache")
    assert json.loads(theirs.stdout) == ours.summary
    assert ours.page().startswith("<!") and "tfrc" in repr(ours)


def test_compare_takes_a_law():
    law = lambda: lambda now, feedback: 5e5  # noqa: E731
    found = seaway.compare("squeeze", ["steady"], CLIP, controllers={"steady": law})
    assert found.summary["controls"][0]["control"] == "steady"
    with pytest.raises(seaway.InputError, match="expected 1 to 8"):
        seaway.compare("squeeze", [])


def y4m(path: Path, pictures: int, shift: int) -> Path:
    """Grey pictures with a bar that moves."""
    width, height = 64, 48
    with path.open("wb") as out:
        out.write(f"YUV4MPEG2 W{width} H{height} F25:1 Ip A1:1 C420\n".encode())
        for picture in range(pictures):
            row = bytes(200 if (x + shift) // 8 == picture % 8 else 60 for x in range(width))
            out.write(b"FRAME\n" + row * height + b"\x80" * (width * height // 2))
    return path


def test_score_is_the_binarys(run_binary, tmp_path):
    sent, shown = y4m(tmp_path / "sent.y4m", 20, 0), y4m(tmp_path / "shown.y4m", 20, 1)
    ours = seaway.score(sent, shown, metrics=["psnr", "ssim"])
    theirs = run_binary("score", "sent.y4m", "shown.y4m", "--metrics", "psnr,ssim", "--json")
    assert json.loads(theirs.stdout) == ours.report
    assert len(ours.pictures()) > 20
    with pytest.raises(seaway.InputError, match="nothing.y4m"):
        seaway.score(sent, "nothing.y4m")
    with pytest.raises(seaway.InputError, match="expected one of viewer"):
        seaway.score(sent, shown, mode="view")


def test_shape_is_the_binarys(run_binary, tmp_path):
    clips = sorted((Path(__file__).resolve().parents[2] / "assets").rglob("*.m2v"))
    clips += sorted((Path(__file__).resolve().parents[2] / "assets").rglob("*.mpg"))
    if not clips:
        pytest.skip("no MPEG-2 clip in assets")
    for options in ({"ratio": 0.7}, {"rate": "300 kbit/s"}):
        ours = seaway.shape(clips[0], **options)
        (name, value), = options.items()
        theirs = run_binary("shape", str(clips[0]), "out.m2v", f"--{name}", str(value), "--json")
        assert (tmp_path / "out.m2v").read_bytes() == ours.stream
        document = json.loads(theirs.stdout)
        assert {key: document[key] for key in ("totals", "pictures", "container")} == {
            key: ours.report[key] for key in ("totals", "pictures", "container")
        }
    with pytest.raises(seaway.InputError, match="one of rate and ratio"):
        seaway.shape(clips[0])
    with pytest.raises(seaway.InputError):
        seaway.shape(b"this is no stream", ratio=0.5)


def test_reproduce_is_the_binarys(run_binary):
    ours = seaway.reproduce("S000-T1", seeds=1)
    theirs = json.loads(run_binary("reproduce", "S000-T1", "--seeds", "1", "--json").stdout)
    assert theirs == {key: value for key, value in ours.items() if key != "holds"}
    with pytest.raises(seaway.InputError, match="no table or figure of that name"):
        seaway.reproduce("S000-T99")


def test_plots(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    pytest.importorskip("pyarrow")
    matplotlib.use("Agg")
    from seaway import plot

    run = seaway.sim("squeeze", {"duration": "15 s"}, series=True)
    figures = [
        run.plot(),
        plot.compare({"one": run, "two": run}),
        plot.curve(seaway.sweep("lossy-wifi", ["fixed", "tfrc"], seeds=2, parameters=LOSSES), LOSS, "received_bps"),
    ]
    for number, figure in enumerate(figures):
        figure.savefig(tmp_path / f"{number}.svg")
        assert (tmp_path / f"{number}.svg").stat().st_size > 5000
    with pytest.raises(seaway.InputError, match="series=True"):
        seaway.sim("clean", {"duration": "1 s", "warmup": "0 s"}).plot()

