"""A saved system is the same system again, and nothing else is taken for one."""

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.benchmark import Benchmark, open_benchmark
from hieramas_lib.experiments.records import answer_all
from hieramas_lib.learning.checkpoints import Checkpoints
from hieramas_lib.learning.encoder import ShippedVectors
from hieramas_lib.learning.policy import constant_policy
from hieramas_lib.learning.stage1_settings import Stage1Settings
from hieramas_lib.learning.stage2 import Stage2Settings
from hieramas_lib.llms.budget import Budget
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.connect import connect
from hieramas_lib.llms.pool import LLMSpec
from hieramas_lib.methods.aflow.aflow import AFlow
from hieramas_lib.methods.aflow.settings import AFlowSettings
from hieramas_lib.methods.fixed import decision_alone
from hieramas_lib.methods.hieramas import HieraMAS, HieraMASSettings
from hieramas_lib.methods.run import run
from hieramas_lib.methods.saved import load_method, save_method
from hieramas_lib.methods.single import base
from hieramas_lib.teams.rollout import Rollout


def bench(benchmark: str = "knowledge") -> Benchmark:
    return open_benchmark(
        benchmark, difficulty="hard", seed=3, graphs=6, width=2, decision="gemma-3-27b"
    )


def settings(form: str = "match") -> HieraMASSettings:
    return HieraMASSettings(
        form=form,  # type: ignore[arg-type]
        stage1=Stage1Settings(passes=1, group=2),
        stage2=Stage2Settings(graphs_per_task=2, epochs=3),
    )


def trained(opened: Benchmark, form: str = "match") -> HieraMAS:
    system = HieraMAS(opened.space, opened.llms, opened.encoder, settings(form), seed=5)
    run(system.fit(opened.train[:6]))
    return system


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved system, to be copied before it is changed."""
    folder = tmp_path_factory.mktemp("systems") / "team"
    trained(bench()).save(folder)
    return folder


@pytest.fixture
def saved(shared: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(shared, tmp_path / "team"))


def answers(system: HieraMAS, tasks) -> list[Rollout]:
    return asyncio.run(answer_all(system, tasks))


def plain(rollouts: list[Rollout]) -> list[object]:
    """All of a rollout but whether its calls were cached."""
    return [
        (r.answer, r.grade, r.topology_id, r.pruned, r.delivered_edges, r.usage, r.latency_s)
        for r in rollouts
    ]


@pytest.mark.parametrize("benchmark", ["knowledge", "maths", "humaneval"])
@pytest.mark.parametrize("form", ["match", "paper"])
def test_loaded_system_does_what_the_saved_one_did(tmp_path: Path, benchmark: str, form: str):
    opened = bench(benchmark)
    system = trained(opened, form)
    system.save(tmp_path / "team")
    again = HieraMAS.load(tmp_path / "team")
    tasks = opened.test[:8]
    assert torch.equal(again.actions(tasks), system.actions(tasks))
    assert torch.equal(again.graph_scores(tasks), system.graph_scores(tasks))
    assert plain(answers(again, tasks[:4])) == plain(answers(system, tasks[:4]))
    assert again.tensors().keys() == system.tensors().keys()
    assert all(torch.equal(again.tensors()[name], t) for name, t in system.tensors().items())
    assert (again.history, again.settings, again.seed) == (system.history, system.settings, 5)
    assert again.space == system.space


FIVE_LINES = """
import sys
from hieramas_lib.methods.hieramas import HieraMAS
from hieramas_lib.methods.run import run
from hieramas_lib.tasks.load import load_tasks
team = HieraMAS.load(sys.argv[1])
rollout = run(team.answer(load_tasks("knowledge", "test")[0]))
print(rollout.answer, rollout.topology_id, rollout.usage)
"""


def test_another_process_gives_the_same_answer(saved: Path):
    (rollout,) = answers(HieraMAS.load(saved), bench().test[:1])
    printed = subprocess.run(
        [sys.executable, "-c", FIVE_LINES, str(saved)],
        env={"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert printed == f"{rollout.answer} {rollout.topology_id} {rollout.usage}\n"


def test_files_are_json_and_safetensors(saved: Path):
    names = sorted(file.name for file in saved.iterdir())
    assert names == ["graphs.json", "system.json", "weights.safetensors", "world.json"]
    about = json.loads((saved / "system.json").read_text())
    assert (about["method"], about["format"], about["seed"]) == ("HieraMAS", 2, 5)
    assert list(about["files"]) == ["graphs.json", "weights.safetensors", "world.json"]


def test_saving_twice_leaves_the_second_system(saved: Path):
    opened = bench("maths")
    system = trained(opened)
    system.save(saved)
    tasks = opened.test[:3]
    assert torch.equal(HieraMAS.load(saved).actions(tasks), system.actions(tasks))
    assert [folder.name for folder in saved.parent.iterdir()] == ["team"]  # nothing left over


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path, saved: Path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("a year's work")
    with pytest.raises(ConfigError, match="mine: holds other files"):
        HieraMAS.load(saved).save(tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.tex").exists()


def test_stage_one_alone_can_be_saved(tmp_path: Path):
    opened = bench()
    system = HieraMAS(opened.space, opened.llms, opened.encoder, settings(), seed=0)
    with pytest.raises(ConfigError, match="call fit"):
        system.save(tmp_path / "team")
    run(system.fit_policy(opened.train[:6]))
    system.save(tmp_path / "team")
    again = HieraMAS.load(tmp_path / "team")
    assert torch.equal(again.actions(opened.test[:3]), system.actions(opened.test[:3]))
    with pytest.raises(ConfigError, match="train stage 2"):
        again.team(opened.test[0])


def test_a_policy_of_another_form_is_not_saved(tmp_path: Path):
    opened = bench()
    system = HieraMAS(opened.space, opened.llms, opened.encoder, settings(), seed=0)
    space = opened.space
    fixed = torch.zeros(len(space.roles.roles), space.actions.positions, dtype=torch.int64)
    system.start(opened.train, constant_policy(space.actions, space.roles, fixed))
    with pytest.raises(ConfigError, match="not of the form 'match'"):
        system.save(tmp_path / "team")
    assert not (tmp_path / "team").exists()


def change(file: Path, **fields: object) -> None:
    """Overwrite fields of a JSON file; a name with dots is a path into it."""
    about = json.loads(file.read_text())
    for name, value in fields.items():
        place = about
        *outer, last = name.split("__")
        for key in outer:
            place = place[key]
        place[last] = value
    file.write_text(json.dumps(about))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"format": 1}, "format: 1; this version of the library reads format 2"),
        ({"method": "os.system"}, "method: 'os.system' is not one of AFlow, "),
        ({"space": None}, "space: missing, and this method chooses teams"),
        ({"encoder": None}, "encoder: missing, and this method reads text vectors"),
        ({"seed": None}, "seed: missing, and this method draws at random"),
        ({"colour": "red"}, "colour: Extra inputs"),
        ({"settings__stage1__credit": "none"}, "settings.stage1.credit: Input should be"),
        ({"settings__form": "paper"}, r"weights\.safetensors: does not fit system.json"),
        ({"space__width": 3}, r"weights\.safetensors: does not fit system.json: .*size mismatch"),
        ({"space__decision": "gpt-9"}, "llms: HieraMAS needs 'gpt-9'"),
        ({"encoder": "gte-large"}, "encoder: trained with gte-large; give it as `encoder=`"),
        ({"origins__qwen3-8b": "hard, seed 4"}, "origins.qwen3-8b: trained with hard, seed 4"),
        ({"pool__llms": []}, "pool: "),
    ],
)
def test_a_changed_system_file_is_refused(saved: Path, fields: dict, message: str):
    change(saved / "system.json", **fields)
    with pytest.raises(ConfigError, match=message) as caught:
        HieraMAS.load(saved)
    assert str(saved) in str(caught.value)


@pytest.mark.parametrize("name", ["graphs.json", "weights.safetensors", "world.json"])
def test_a_damaged_missing_or_foreign_file_is_refused(saved: Path, tmp_path: Path, name: str):
    data = (saved / name).read_bytes()
    (saved / name).write_bytes(data[:-1])
    with pytest.raises(ConfigError, match=f"{name}: damaged"):
        HieraMAS.load(saved)
    (saved / name).unlink()
    with pytest.raises(ConfigError, match=f"{name}: missing"):
        HieraMAS.load(saved)


def test_no_system_at_all(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"system\.json: cannot be read: No such file"):
        HieraMAS.load(tmp_path)
    (tmp_path / "system.json").write_text("{")
    with pytest.raises(ConfigError, match=r"system\.json: file: Invalid JSON"):
        HieraMAS.load(tmp_path)
    (tmp_path / "system.json").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"system\.json: damaged"):
        HieraMAS.load(tmp_path)


def test_given_llms_win_and_need_the_pools_names(saved: Path):
    other = open_benchmark(
        "knowledge", difficulty="mmlu-like", seed=9, graphs=6, width=2, decision="gemma-3-27b"
    )
    system = HieraMAS.load(saved, llms=other.llms)
    answers(system, other.test[:1])
    assert other.llms.usage.calls > 0
    few = other.llms.pool.model_copy(update={"llms": other.llms.pool.llms[:3]})
    with pytest.raises(ConfigError, match="llms: HieraMAS needs"):
        HieraMAS.load(saved, llms=connect(few, world=other.llms.world))


def test_a_budget_holds_for_the_saved_pool(saved: Path):
    system = HieraMAS.load(saved, budget=Budget(calls=0))
    with pytest.raises(Exception, match="call"):
        answers(system, bench().test[:1])
    assert system.llms.usage.calls == 0


def test_other_text_vectors_are_refused(saved: Path):
    class Reversed(ShippedVectors):
        def encode(self, texts):
            return super().encode(texts)[:, ::-1].copy()

    with pytest.raises(
        ConfigError, match="encoder: all-MiniLM-L6-v2 gives the roles other text vectors"
    ):
        HieraMAS.load(saved, encoder=Reversed())


def test_real_llms_take_their_keys_from_the_environment(tmp_path: Path, monkeypatch):
    """No key is written; loading without the key says which variable is missing."""
    opened = bench()
    specs = tuple(
        LLMSpec(
            **{
                **spec.model_dump(),
                "client": "openai",
                "base_url": "http://127.0.0.1:9/v1",
                "key_env": "TEAM_TEST_KEY",
            }
        )
        for spec in opened.llms.pool.llms
    )
    pool = opened.llms.pool.model_copy(update={"llms": specs})
    monkeypatch.setenv("TEAM_TEST_KEY", "sk-planted-key")
    system = HieraMAS(opened.space, connect(pool), opened.encoder, settings(), seed=0)
    system.start(opened.train)
    system.save(tmp_path / "team")
    texts = "".join(f.read_bytes().decode("latin-1") for f in (tmp_path / "team").iterdir())
    assert "127.0.0.1" in texts
    assert "planted" not in texts
    assert not (tmp_path / "team" / "world.json").exists()
    HieraMAS.load(tmp_path / "team")
    monkeypatch.delenv("TEAM_TEST_KEY")
    with pytest.raises(ConfigError, match="TEAM_TEST_KEY"):
        HieraMAS.load(tmp_path / "team")


@pytest.mark.parametrize("stop_at", ["policy", "labels"])
def test_a_fit_that_was_stopped_equals_one_that_was_not(tmp_path: Path, stop_at: str):
    """Stopped in the first batch of stage 1 or while labelling; no call is made twice."""
    whole = trained(bench())

    def start(limit: int | None) -> HieraMAS:
        opened = bench()
        llms = connect(
            opened.llms.pool,
            store=CallStore(tmp_path / "calls.sqlite"),
            world=opened.llms.world,
            budget=Budget(calls=limit),
        )
        return HieraMAS(opened.space, llms, opened.encoder, settings(), seed=5)

    def fit(system: HieraMAS) -> None:
        run(system.fit(bench().train[:6], checkpoints=Checkpoints(tmp_path / "checkpoints")))

    calls = whole.llms.usage.made
    stopped = start(limit=calls // 3 if stop_at == "policy" else calls - 10)
    with pytest.raises(Exception, match="call"):
        fit(stopped)
    assert (tmp_path / "checkpoints" / "stage1.safetensors").exists() == (stop_at == "labels")
    resumed = start(limit=None)
    fit(resumed)
    assert resumed.history == whole.history
    assert all(torch.equal(resumed.tensors()[name], t) for name, t in whole.tensors().items())
    assert stopped.llms.usage.made + resumed.llms.usage.made == calls


def test_a_folder_of_another_method_is_no_hieramas(tmp_path: Path):
    opened = bench()
    save_method(base("gpt-5-mini", opened.llms, opened.space.roles), tmp_path / "base")
    names = sorted(file.name for file in (tmp_path / "base").iterdir())
    assert names == ["system.json", "world.json"]  # nothing learned, no graphs
    assert load_method(tmp_path / "base").name == "Base"
    with pytest.raises(ConfigError, match=r"base: holds Base; read it with load_method\(\)"):
        HieraMAS.load(tmp_path / "base")


def test_the_llm_of_a_method_with_one_has_to_be_there(tmp_path: Path):
    opened = bench()
    save_method(base("gpt-5-mini", opened.llms, opened.space.roles), tmp_path / "base")
    change(tmp_path / "base" / "system.json", settings__llm="gpt-9")
    with pytest.raises(ConfigError, match=r"system\.json: llms: SingleLLM needs 'gpt-9'"):
        load_method(tmp_path / "base")


def test_a_method_on_other_llms_or_of_another_class_is_not_saved(tmp_path: Path):
    class Scripted:
        async def complete(self, request):
            raise AssertionError("not asked")

    opened = bench()
    with pytest.raises(ConfigError, match="Base: only a method on the LLMs of a pool"):
        save_method(base("m", Scripted(), opened.space.roles), tmp_path / "base")
    anchor = decision_alone(opened.space, opened.llms)
    with pytest.raises(ConfigError, match="method: 'ConstantTeam' is not one of AFlow, "):
        save_method(anchor, tmp_path / "base")
    assert not list(tmp_path.iterdir())


def test_a_learned_text_of_another_kind_is_refused(tmp_path: Path):
    opened = bench()
    method = AFlow(opened.space, opened.llms, opened.encoder, AFlowSettings("gpt-5-mini"), seed=0)
    method.start()
    save_method(method, tmp_path / "flow")
    file = tmp_path / "flow" / "learned.json"
    text = file.read_text(encoding="utf-8").replace("gpt-5-mini", "gpt-9")
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"learned\.json: damaged"):
        load_method(tmp_path / "flow")
    change(tmp_path / "flow" / "system.json", files={})
    with pytest.raises(ConfigError, match=r"learned\.json: does not fit system\.json: .*gpt-9"):
        load_method(tmp_path / "flow", llms=opened.llms)
