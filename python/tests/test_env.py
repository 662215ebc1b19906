"""The gymnasium environments."""

import pytest

gymnasium = pytest.importorskip("gymnasium")
np = pytest.importorskip("numpy")

import seaway  # noqa: E402
import seaway.env  # noqa: E402
from seaway.env import RateControlEnv, RateControlVectorEnv  # noqa: E402

SHORT = {"duration": "8 s", "warmup": "1 s"}


def episode(env, seed, act):
    seen, _ = env.reset(seed=seed)
    rows = [(seen.tolist(), 0.0)]
    over = False
    while not over:
        seen, reward, terminated, over, _ = env.step(np.array([act(len(rows))], np.float32))
        assert not terminated
        rows.append((seen.tolist(), reward))
    return rows


def test_gymnasium_finds_no_fault():
    from gymnasium.utils.env_checker import check_env

    env = gymnasium.make("seaway/RateControl-v0", scenario="lossy-wifi", overrides=SHORT)
    check_env(env.unwrapped, skip_render_check=True)


def test_an_episode_is_a_function_of_seed_and_actions():
    env = RateControlEnv("lossy-wifi", overrides=SHORT)
    act = lambda step: [0.2, -0.5, 0.4][step % 3]  # noqa: E731
    first, again, other = (episode(env, seed, act) for seed in (1, 1, 2))
    assert first == again and first != other


@pytest.mark.parametrize("step", ["feedback", 0.1, 0.5])
def test_a_rate_that_is_held_sends_at_that_rate(step):
    """As the built-in controller `fixed` does."""
    env = RateControlEnv("clean", overrides=SHORT, step=step, observations=["rate", "sent_rate", "receive_rate"])
    episode(env, 1, lambda step: 0.0)
    rate = env.step(np.zeros(1, np.float32))[4]["rate"]
    found = env.finish().flow()
    fixed = seaway.sim("clean", {**SHORT, "flow.video.rate.start": f"{rate:.0f} bit/s"}, control="fixed", seed=1).flow()
    assert found["sent_bps"] == pytest.approx(fixed["sent_bps"], rel=0.05)
    assert found["control"] == "agent"


def test_steps_are_as_long_as_they_say():
    env = RateControlEnv("clean", overrides=SHORT, step=0.25)
    rows = episode(env, 1, lambda step: 0.0)
    assert len(rows) - 1 in (30, 31)
    by_feedback = RateControlEnv("clean", overrides={**SHORT, "flow.video.feedback": '{ interval = "50 ms" }'})
    assert 140 <= len(episode(by_feedback, 1, lambda step: 0.0)) <= 170


def test_names_choose_observations_and_reward():
    names = list(seaway.env.observations())
    assert len(names) == 11
    for reward in seaway.env.rewards():
        env = RateControlEnv("lossy-wifi", overrides=SHORT, observations=names, reward=reward, step=0.1)
        rows = episode(env, 3, lambda step: 0.3)
        assert all(np.isfinite(seen).all() and np.isfinite(rewards) for seen, rewards in rows)
        column = dict(zip(names, np.array([seen for seen, _ in rows]).T))
        assert column["loss_ratio"].max() > 0 and 0.04 < column["least_rtt"][-1] < 0.1
        assert (column["rtt_ratio"] >= 0).all() and (column["queue_delay"] >= 0).all()
    own = RateControlEnv("clean", overrides=SHORT, observations=["rate"], reward=lambda seen: -seen["rate"])
    assert all(rewards == -seen[0] for seen, rewards in episode(own, 1, lambda step: 0.1)[1:])
    for wrong, says in [
        ({"observations": ["rtt_rato"]}, "did you mean rtt_ratio"),
        ({"reward": "powr"}, "did you mean power"),
        ({"action": "x"}, "expected one of"),
        ({"step": "frame"}, "expected 'feedback'"),
        ({"flow": "vido"}, "no media flow vido"),
        ({"step": 0.0001}, "at least"),
    ]:
        with pytest.raises(seaway.InputError, match=says):
            RateControlEnv("clean", **wrong)


def test_overload_is_observed_and_rewarded_less():
    def last(act):
        env = RateControlEnv("squeeze", overrides={"duration": "20 s", "warmup": "1 s"}, step=0.1, observations=["queue_delay", "loss_ratio"], reward="aurora")
        return np.mean([[*seen, rewards] for seen, rewards in episode(env, 1, lambda step: act)[-20:]], axis=0)

    overload, modest = last(1.0), last(0.3)
    assert overload[0] > 0.05 > modest[0] and overload[1] > modest[1] and overload[2] < modest[2]


def test_a_change_doubles_and_halves():
    env = RateControlEnv("clean", overrides=SHORT, action="change", step=0.1)
    env.reset(seed=1)
    rates = [env.step(np.array([act], np.float32))[4]["rate"] for act in (0.0, 1.0, 1.0, -1.0)]
    assert rates[1] == pytest.approx(2 * rates[0]) and rates[3] == pytest.approx(rates[1])


def test_runs_side_by_side_are_those_alone():
    many = RateControlVectorEnv("lossy-wifi", 3, overrides=SHORT, step=0.1)
    seen, _ = many.reset(seed=5)
    alone = [RateControlEnv("lossy-wifi", overrides=SHORT, step=0.1) for _ in range(3)]
    first = [env.reset(seed=5 + index)[0] for index, env in enumerate(alone)]
    assert (np.array(first) == seen).all()
    for step in range(40):
        actions = np.array([[-0.5], [0.0], [0.5 if step % 2 else 0.1]], np.float32)
        seen, rewards, _, over, _ = many.step(actions)
        for index, env in enumerate(alone):
            row, reward, _, ends, _ = env.step(actions[index])
            assert (row == seen[index]).all() and reward == rewards[index] and ends == over[index]


def test_a_run_that_is_over_begins_anew():
    many = RateControlVectorEnv(["clean", "squeeze"], overrides={"duration": "2 s", "warmup": "0 s"}, step=0.5)
    many.reset(seed=1)
    ends = [many.step(np.zeros((2, 1), np.float32))[3].tolist() for _ in range(12)]
    assert ends.count([True, True]) >= 2


def test_gymnasium_makes_a_vector():
    many = gymnasium.make_vec("seaway/RateControl-v0", num_envs=2, vectorization_mode="vector_entry_point", scenario="clean", overrides=SHORT)
    seen, _ = many.reset(seed=1)
    assert seen.shape == (2, 6)
