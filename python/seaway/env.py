"""Rate control as gymnasium environments.

>>> import gymnasium, seaway.env
>>> env = gymnasium.make("seaway/RateControl-v0", scenario="lossy-wifi")
>>> observation, info = env.reset(seed=1)
>>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

An agent sets the target rate of one flow in place of a controller. It observes what the sender of a real session measures. A step
is the time to the next report (``step="feedback"``) or a fixed time (``step=0.1``, s). :func:`observations` and
:func:`rewards` list the names that may be chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from . import _native
from ._api import Overrides, Run, Scenario, _changes, _source
from ._native import InputError

DEFAULT_OBSERVATIONS = ("rate", "receive_rate", "loss_ratio", "rtt_ratio", "queue_delay", "delay_gradient")
ACTIONS = ("rate", "change")
LARGEST_SEED = 2**31


def observations() -> dict[str, str]:
    """The numbers that an agent may see, and what they are."""
    return dict(_native.observations())


def rewards() -> dict[str, str]:
    """The rewards that have a name, and what they are."""
    return dict(_native.rewards())


class _Batch:
    """The runs of an environment, and the conversion of actions to rates."""

    def __init__(
        self,
        sources: Sequence[Scenario],
        overrides: Overrides,
        flow: str | None,
        step: float | str,
        names: Sequence[str],
        reward: str,
        action: str,
        series: bool,
    ) -> None:
        if isinstance(step, str) and step != "feedback":
            raise InputError(f"step is {step!r}: expected 'feedback' or seconds")
        if action not in ACTIONS:
            raise InputError(f"action is {action!r}: expected one of {', '.join(ACTIONS)}")
        length = None if isinstance(step, str) else float(step)
        self.names, self.action, self.count = tuple(names), action, len(sources)
        texts = [_source(scenario) for scenario in sources]
        self.native = _native.Environment(
            texts, _changes(overrides), flow, length, list(names), reward, series
        )
        self.observations = np.zeros((self.count, len(names)), np.float32)
        self.rewards = np.zeros(self.count)
        self.over = np.zeros(self.count, np.uint8)
        self.rates = np.zeros(self.count)
        self.logs = np.zeros((self.count, 2))
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (len(names),), np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, index: int, seed: int) -> None:
        self.native.reset(index, seed, self.observations[index])
        least, most = self.native.limits(index)
        self.logs[index] = math.log(max(least, 1.0)), math.log(most)
        self.rates[index] = self.native.state(index)[0]

    def step(self, actions: np.ndarray) -> None:
        """One action for each run, -1 to 1."""
        wanted = np.clip(np.asarray(actions, np.float64).reshape(self.count), -1.0, 1.0)
        least, most = self.logs[:, 0], self.logs[:, 1]
        if self.action == "rate":
            self.rates[:] = np.exp(least + (wanted + 1.0) / 2.0 * (most - least))
        else:
            logs = np.log(np.maximum(self.rates, 1.0)) + wanted * math.log(2.0)
            self.rates[:] = np.exp(np.clip(logs, least, most))
        self.native.step(self.rates, self.observations, self.rewards, self.over)


class RateControlEnv(gymnasium.Env):
    """One flow of one scenario.

    ``action``: ``"rate"`` takes the whole range of the flow's rate, on a logarithmic scale, from -1 to 1; ``"change"``
    halves (-1) to doubles (1) the rate. ``reward`` is a name of :func:`rewards`, or a function of the observations by
    name. ``overrides`` are as of :func:`seaway.sim`. An episode ends with the scenario (truncated).
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        scenario: Scenario = "lossy-wifi",
        *,
        overrides: Overrides = None,
        flow: str | None = None,
        step: float | str = "feedback",
        observations: Sequence[str] = DEFAULT_OBSERVATIONS,
        reward: str | Callable[[Mapping[str, float]], float] = "power",
        action: str = "rate",
        series: bool = False,
    ) -> None:
        self._reward = reward if callable(reward) else None
        named = "power" if callable(reward) else reward
        self._batch = _Batch([scenario], overrides, flow, step, observations, named, action, series)
        self.observation_space = self._batch.observation_space
        self.action_space = self._batch.action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begins the scenario anew, up to the flow's first report."""
        super().reset(seed=seed)
        first = seed if seed is not None else int(self.np_random.integers(LARGEST_SEED))
        self._batch.reset(0, first)
        return self._batch.observations[0].copy(), {"seed": first}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Sets the rate and goes on to the end of the step."""
        batch = self._batch
        batch.step(action)
        observations = batch.observations[0].copy()
        reward = float(batch.rewards[0])
        if self._reward is not None:
            reward = float(self._reward(dict(zip(batch.names, observations.tolist()))))
        return observations, reward, False, bool(batch.over[0]), {"rate": float(batch.rates[0])}

    def finish(self) -> Run:
        """Ends the episode here and gives its outcome, as :func:`seaway.sim` does."""
        return Run(self._batch.native.finish(0))


class RateControlVectorEnv(VectorEnv):
    """Several runs side by side in one native call: one scenario ``num_envs`` times, or a list of scenarios.

    A run that is over begins anew with the next step (``AutoresetMode.NEXT_STEP``), with a seed of its own.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        scenario: Scenario | Sequence[Scenario] = "lossy-wifi",
        num_envs: int | None = None,
        *,
        overrides: Overrides = None,
        flow: str | None = None,
        step: float | str = "feedback",
        observations: Sequence[str] = DEFAULT_OBSERVATIONS,
        reward: str = "power",
        action: str = "rate",
    ) -> None:
        many = isinstance(scenario, Sequence) and not isinstance(scenario, str)
        sources = list(scenario) if many else [scenario] * (num_envs or 1)
        self.num_envs = len(sources)
        self._batch = _Batch(sources, overrides, flow, step, observations, reward, action, False)
        self.single_observation_space = self._batch.observation_space
        self.single_action_space = self._batch.action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._over = np.zeros(self.num_envs, bool)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begins all runs anew: with seeds that count up from ``seed``."""
        super().reset(seed=seed)
        for index in range(self.num_envs):
            self._batch.reset(index, self._next_seed() if seed is None else seed + index)
        self._over[:] = False
        return self._batch.observations.copy(), {}

    def _next_seed(self) -> int:
        return int(self.np_random.integers(LARGEST_SEED))

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """A step of all runs."""
        batch, begun = self._batch, np.flatnonzero(self._over)
        batch.step(actions)
        for index in begun:
            batch.reset(int(index), self._next_seed())
            batch.rewards[index], batch.over[index] = 0.0, 0
        self._over = batch.over.astype(bool)
        never = np.zeros(self.num_envs, bool)
        return batch.observations.copy(), batch.rewards.copy(), never, self._over.copy(), {}


gymnasium.register(
    id="seaway/RateControl-v0",
    entry_point="seaway.env:RateControlEnv",
    vector_entry_point="seaway.env:RateControlVectorEnv",
)
