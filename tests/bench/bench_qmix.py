"""Speed of Agent Q-Mix: an update, a choice, and whole training episodes (design 14).

Run ``hieramas bench qmix``. It prints figures beside their goals and asserts none. The published
update took 190 ms at batch 8 and 2 rounds, on one thread; here the batch is 32.
"""

import asyncio
import time

import torch

from hieramas_lib.experiments.benchmark import Benchmark, open_benchmark
from hieramas_lib.learning.qmix.learner import Memory
from hieramas_lib.learning.qmix.replay import Batch
from hieramas_lib.learning.qmix.settings import (
    MixerForm,
    NetworkSettings,
    QMixSettings,
    TrainingSettings,
)
from hieramas_lib.methods.agent_qmix import AgentQMix

BATCH, REPEATS = 32, 50


def opened() -> Benchmark:
    """A new world; so its calls have never been made."""
    return open_benchmark(
        "knowledge", difficulty="hard", seed=0, graphs=1, width=1, decision="gemma-3-27b"
    )


def system(bench: Benchmark, agents: int, rounds: int, network: NetworkSettings) -> AgentQMix:
    """An untrained system with 64 episodes to come."""
    training = TrainingSettings(episodes=64, target_period=8)
    settings = QMixSettings(agents=agents, rounds=rounds, network=network, training=training)
    return AgentQMix(bench.space, bench.llms, bench.encoder, settings, seed=0)


def update_ms(method: AgentQMix) -> float:
    """CPU milliseconds of one update on episodes that were made before."""
    batch = Batch.of(list(method.episodes[:BATCH]))
    method.learner.update(batch)
    start = time.process_time()
    for _ in range(REPEATS):
        method.learner.update(batch)
    return 1e3 * (time.process_time() - start) / REPEATS


def choice_ms(method: AgentQMix) -> float:
    """CPU milliseconds of one choice of all agents, observation given."""
    seen, memory = method.episodes[0].seen[0], Memory()
    start = time.process_time()
    for _ in range(REPEATS):
        method.learner.values(seen, memory)
    return 1e3 * (time.process_time() - start) / REPEATS


def updates() -> None:
    """Time updates and choices for several sizes."""
    bench = opened()
    published = NetworkSettings(hidden=128, mixing=64)
    forms: list[tuple[str, int, int, NetworkSettings]] = [
        ("default", 3, 2, NetworkSettings()),
        ("default", 3, 3, NetworkSettings()),
        ("default", 10, 3, NetworkSettings()),
        ("the paper's widths", 3, 3, published),
    ]
    mixers: tuple[MixerForm, ...] = ("vdn", "independent")
    forms += [(mixer, 3, 3, NetworkSettings(mixer=mixer)) for mixer in mixers]
    for name, agents, rounds, network in forms:
        method = system(bench, agents, rounds, network)
        asyncio.run(method.fit(bench.train, ()))
        print(
            f"{name}, N = {agents}, T = {rounds}: update at batch {BATCH} "
            f"{update_ms(method):.1f} ms CPU (goal 25), a choice {choice_ms(method):.2f} ms"
        )


def episodes() -> None:
    """Time a training with its calls made for the first time, and found in the store."""
    bench = opened()
    settings = QMixSettings(training=TrainingSettings(episodes=480))
    for calls in ("made for the first time", "all in the call store"):
        method = AgentQMix(bench.space, bench.llms, bench.encoder, settings, seed=0)
        start = time.process_time()
        asyncio.run(method.fit(bench.train, ()))
        spent = time.process_time() - start
        print(
            f"training, N = 3, T = 2, 480 episodes of 7 calls, {calls}: "
            f"{480 / spent:.0f} episodes/s of CPU time, updates included"
        )


if __name__ == "__main__":
    torch.set_num_threads(1)
    updates()
    episodes()
