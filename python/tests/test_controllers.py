"""Controllers written in Python."""

import pytest
import seaway

SHORT = {"duration": "10 s", "warmup": "1 s"}


class Sawtooth(seaway.Controller):
    """A little up with each report, a sixth down where something was lost: examples/add_controller.rs."""

    def __init__(self, up=1.02, down=0.83):
        self.up, self.down = up, down
        self.made = 0

    def on_limits(self, least, start, most):
        self.rate = start

    def on_feedback(self, now, feedback):
        self.made += 1
        return feedback.rate * (self.down if feedback.lost else self.up)


def constant(rate=700_000.0):
    return lambda now, feedback: rate


def run(control, controllers, **options):
    return seaway.sim("squeeze", SHORT, control=control, controllers=controllers, **options)


def test_a_class_controls_a_flow():
    found = run("sawtooth", {"sawtooth": Sawtooth})
    assert found.flow()["control"] == "sawtooth"
    assert found.flow()["received_bps"] > 3e5
    assert found.json == run("sawtooth", {"sawtooth": Sawtooth}).json


def test_options_are_the_keyword_parameters():
    steep = run("sawtooth(up=1.1)", {"sawtooth": Sawtooth})
    assert steep.flow()["sent_bps"] > run("sawtooth", {"sawtooth": Sawtooth}).flow()["sent_bps"]
    for spec, says in [
        ("sawtooth(upp=2)", "did you mean up"),
        ("sawtooth(up=much)", "expected a value of type float"),
        ("sawtoot", "did you mean sawtooth"),
    ]:
        with pytest.raises(seaway.InputError, match=says):
            run(spec, {"sawtooth": Sawtooth})


def test_a_closure_is_a_law_too():
    found = run("constant(rate=5e5)", {"constant": constant})
    # The same as the built-in one, whose first rate is the limits'.
    assert found.flow()["sent_bps"] == pytest.approx(5e5, rel=0.1)


def test_the_interval_of_feedback_is_the_laws_or_the_flows():
    counts = []

    class Counts(Sawtooth):
        feedback_interval = 0.05

        def on_feedback(self, now, feedback):
            counts[-1] += 1
            return super().on_feedback(now, feedback)

    for spec in ("counts", "counts(feedback=200 ms)"):
        counts.append(0)
        run(spec, {"counts": Counts})
    assert 150 < counts[0] <= 200 and 40 < counts[1] <= 50


def test_a_report_says_what_came_back():
    seen = []

    class Looks(Sawtooth):
        def on_feedback(self, now, feedback):
            seen.append((now, feedback))
            return super().on_feedback(now, feedback)

    seaway.sim("lossy-wifi", SHORT, control="looks", controllers={"looks": Looks})
    assert sum(feedback.lost for _, feedback in seen) > 0
    for now, feedback in seen:
        packets = feedback.packets()
        fates = [fate for *_, fate in packets]
        assert fates.count("received") == feedback.received and fates.count("lost") == feedback.lost
        assert sum(size for _, size, _, _, fate in packets if fate == "received") == feedback.received_bytes
        assert all(sent <= now for _, _, sent, _, _ in packets)
        assert 0.0 <= feedback.loss_ratio <= 1.0
        assert feedback.queue_delay is None or feedback.queue_delay >= 0.0
        assert feedback.rtt is None or 0.04 <= feedback.rtt < 1.0


def test_decisions_have_the_causes_that_a_law_gives():
    pyarrow = pytest.importorskip("pyarrow")

    class Explains(Sawtooth):
        def on_feedback(self, now, feedback):
            rate = super().on_feedback(now, feedback)
            if feedback.lost:
                return seaway.Decision(
                    rate, "loss", signal="loss_ratio", value=feedback.loss_ratio, threshold=0.0, phase="backing off"
                )
            return seaway.Decision(rate, "nothing lost", signal="lost", value=0.0, unit="packets", phase="probing")

    found = seaway.sim("lossy-wifi", SHORT, control="explains", controllers={"explains": Explains}, series=True)
    rows = pyarrow.table(found.decisions()).to_pylist()
    losses = [row for row in rows if row["cause"] == "loss"]
    assert losses and all(row["signal"] == "loss_ratio" and row["value"] > 0.0 for row in losses)
    assert all(row["after_bps"] < row["before_bps"] and row["phase"] == "backing off" for row in losses)


def test_a_timer_runs_without_feedback():
    times = []

    class Timed(Sawtooth):
        timer = 0.5

        def on_timer(self, now):
            times.append(now)

    run("timed", {"timed": Timed})
    assert len(times) >= 18
    assert all(later - earlier == pytest.approx(0.5) for earlier, later in zip(times, times[1:]))


def test_rates_are_clamped_to_the_flows_range():
    rates = []

    def greedy():
        def on_feedback(now, feedback):
            rates.append(feedback.rate)
            return 1e12

        return on_feedback

    run("greedy", {"greedy": greedy})
    assert max(rates) < 1e9


def test_an_exception_of_a_law_ends_the_run():
    class Faulty(Sawtooth):
        def on_feedback(self, now, feedback):
            if now > 2.0:
                raise ZeroDivisionError("as it happens")
            return None

    with pytest.raises(ZeroDivisionError, match="as it happens"):
        run("faulty", {"faulty": Faulty})
    for wrong in (float("nan"), -1.0):
        with pytest.raises(seaway.InputError, match="expected bit/s"):
            run("wrong", {"wrong": lambda: lambda now, feedback: wrong})
    with pytest.raises(TypeError):
        run("wrong", {"wrong": lambda: lambda now, feedback: "fast"})
    with pytest.raises(seaway.InputError, match="already"):
        run("gcc", {"gcc": Sawtooth})


def test_each_flow_has_a_law_of_its_own():
    made = []

    class Counted(Sawtooth):
        def on_feedback(self, now, feedback):
            if not self.made:
                made.append(self)
            return super().on_feedback(now, feedback)

    found = seaway.sim("rfc8867-5.4", control="counted", controllers={"counted": Counted})
    assert len(made) == sum(flow["kind"] == "media" for flow in found.summary["flows"]) == 3
