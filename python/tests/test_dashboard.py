"""Grafana's own model reads the dashboard of docs/grafana and keeps every key of it."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

models = pytest.importorskip("grafana_foundation_sdk.models.dashboard", reason="no grafana-foundation-sdk")
encoder = pytest.importorskip("grafana_foundation_sdk.cog.encoder")
plugins = pytest.importorskip("grafana_foundation_sdk.cog.plugins")

FILE = Path(__file__).resolve().parents[2] / "docs/grafana/seaway.json"


@pytest.fixture(scope="module")
def dashboard():
    plugins.register_default_plugins()
    return json.loads(FILE.read_text())


def lost(document: dict) -> list[str]:
    """The places that Grafana's model does not keep as they are."""
    kept = json.loads(encoder.JSONEncoder().encode(models.Dashboard.from_json(document)))

    def walk(ours, theirs, place):
        if isinstance(ours, dict) and isinstance(theirs, dict):
            for key, value in ours.items():
                yield from walk(value, theirs[key], f"{place}.{key}") if key in theirs else [f"{place}.{key}"]
        elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
            for index, pair in enumerate(zip(ours, theirs)):
                yield from walk(*pair, f"{place}[{index}]")
        elif ours != theirs:
            yield place

    return list(walk(document, kept, ""))


def test_grafana_reads_the_dashboard(dashboard):
    assert lost(dashboard) == []
    assert len(dashboard["panels"]) >= 8


@pytest.mark.parametrize("key", ["titel", "fieldConfigs"])
def test_an_unknown_key_is_found(dashboard, key):
    wrong = copy.deepcopy(dashboard)
    wrong["panels"][1][key] = wrong["panels"][1]["title"]
    wrong["panels"][1]["options"][key] = 1
    places = lost(wrong)
    assert f".panels[1].{key}" in places and f".panels[1].options.{key}" in places, places


def test_a_query_that_prometheus_has_not_is_found(dashboard):
    wrong = copy.deepcopy(dashboard)
    wrong["panels"][1]["targets"][0]["expression"] = wrong["panels"][1]["targets"][0].pop("expr")
    assert lost(wrong)
