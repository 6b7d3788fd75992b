"""Pool files: prices, names, and messages for what is wrong with them."""

import re
from pathlib import Path

import pytest
import yaml

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.chat import ChatRequest
from hieramas_lib.llms.pool import LLMPool, LLMSpec, load_pool, shipped_pools
from hieramas_lib.llms.world import World, load_settings
from hieramas_lib.paths import data_path

PAPERS = load_pool(data_path("llm_pool.yaml"))
SHIPPED = shipped_pools()


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_pools(path: Path) -> None:
    pool = load_pool(path)
    for spec in pool.llms:
        assert 2 <= len(spec.profile.splitlines()) <= 4, spec.name
        assert 0 < spec.usual_tokens[0] < spec.usual_tokens[1]
        assert spec.price is not None
        assert spec.price.source
    assert len({spec.profile for spec in pool.llms} | {pool.skip_profile}) == len(pool.llms) + 1


def test_the_papers_pool() -> None:
    assert len(PAPERS.llms) == 8
    assert {spec.key_env for spec in PAPERS.llms} == {"OPENROUTER_API_KEY"}
    assert PAPERS["gpt-5-mini"].model == "openai/gpt-5-mini"
    # 400 tokens at $0.25 and 450 at $2.00 a million.
    assert PAPERS.reference_cost == pytest.approx(0.001)
    assert PAPERS["llama-3.1-8b"].cost(1e6, 2e6) == pytest.approx(0.02 + 0.10)
    assert PAPERS["llama-3.1-8b"].usual_cost() == pytest.approx((400 * 0.02 + 260 * 0.05) / 1e6)
    thinkers = {spec.name for spec in PAPERS.llms if spec.max_tokens == 8192}
    assert thinkers == {"gpt-5-mini", "gpt-5-nano", "qwen3-8b"}
    assert {spec.max_tokens for spec in PAPERS.llms} == {1024, 8192}


def test_the_qwen_pool_is_a_part_of_the_papers() -> None:
    qwen = load_pool(data_path("pools", "qwen.yaml"))
    assert qwen.llms == tuple(spec for spec in PAPERS.llms if spec.family == "qwen")
    assert len(qwen.llms) == 2
    assert qwen.skip_profile == PAPERS.skip_profile


def test_the_anthropic_pool() -> None:
    pool = load_pool(data_path("pools", "anthropic.yaml"))
    assert {(s.client, s.key_env, s.base_url) for s in pool.llms} == {
        ("anthropic", "ANTHROPIC_API_KEY", None)
    }
    assert not any(spec.takes_temperature for spec in pool.llms)
    assert [spec.cost(1e6, 1e6) for spec in pool.llms] == [24.0, 12.0, 0.6]


def test_local_pools_are_free_and_need_no_key() -> None:
    local, servers = (load_pool(data_path("pools", f"{n}.yaml")) for n in ("local", "servers"))
    for spec in (*local.llms, *servers.llms):
        assert spec.key_env is None
        assert spec.cost(1e6, 1e6) == 0
    assert len({spec.model for spec in local.llms}) == 1
    assert len({(spec.prompting, spec.examples) for spec in local.llms}) == 2
    assert len({spec.address for spec in servers.llms}) == len(servers.llms)


@pytest.mark.parametrize("difficulty", ["hard", "mmlu-like"])
@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_each_shipped_pool_has_a_twin_in_every_world(path: Path, difficulty: str) -> None:
    pool = load_pool(path)
    twin = pool.simulated()
    world = World((), load_settings(difficulty), twin, seed=0)
    for name in twin.names:
        world.check(name)
    # A twin is as valid as if it had been read from a file.
    assert LLMPool.model_validate(twin.model_dump()) == twin
    assert [(s.prompting, s.examples, s.base_url) for s in twin.llms] == [
        ("chat", (), None) for _ in twin.llms
    ]


def test_the_limit_of_a_call() -> None:
    spec = PAPERS["gpt-5-mini"]
    assert spec.token_limit(ChatRequest(spec.name, ())) == 8192
    assert spec.token_limit(ChatRequest(spec.name, (), max_tokens=7)) == 7


def test_the_simulated_twin_needs_no_key_and_keeps_the_prices() -> None:
    twin = PAPERS.simulated()
    assert twin.names == PAPERS.names
    assert twin.reference_cost == PAPERS.reference_cost
    assert {(spec.client, spec.key_env) for spec in twin.llms} == {("simulated", None)}
    # Room for hidden thoughts would change how long simulated answers are.
    assert {spec.max_tokens for spec in twin.llms} == {1024}


def test_an_unknown_price_is_none_and_no_unit_of_cost() -> None:
    spec = PAPERS.llms[0].model_copy(update={"price": None})
    assert spec.cost(1000, 1000) is None
    assert spec.usual_cost() is None
    pool = LLMPool(name="p", skip_profile="-", reference=spec.name, llms=(spec,))
    with pytest.raises(ConfigError, match="give the reference 'gpt-5-mini' a price"):
        _ = pool.reference_cost


def test_a_free_reference() -> None:
    free = load_pool(data_path("pools", "local.yaml"))
    assert free.reference_cost == 1.0
    mixed = free.model_copy(update={"llms": (*free.llms, PAPERS.llms[0])})
    with pytest.raises(ConfigError, match="'smollm2-examples' is free and others are not"):
        _ = mixed.reference_cost


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"no LLM 'gpt-9'; it has gpt-5-mini, "):
        _ = PAPERS["gpt-9"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"extra": 1}, "extra: Extra inputs"),
        ({"reference": "none"}, "reference: 'none' is not one of"),
        ({"llms": None}, "llms: "),
    ],
)
def test_faults_are_named(tmp_path: Path, change: dict, message: str) -> None:
    raw = yaml.safe_load(data_path("llm_pool.yaml").read_text(encoding="utf-8"))
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(raw | change), encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"mine\.yaml: .*{re.escape(message)}"):
        load_pool(path)


def test_faults_inside_an_llm_are_named(tmp_path: Path) -> None:
    raw = yaml.safe_load(data_path("llm_pool.yaml").read_text(encoding="utf-8"))
    raw["llms"][1]["price"]["input"] = "cheap"
    raw["llms"][2]["name"] = raw["llms"][0]["name"]
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(raw), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"llms\.1\.price\.input"):
        load_pool(path)
    raw["llms"][1]["price"]["input"] = 0.1
    path.write_text(yaml.safe_dump(raw), encoding="utf-8")
    with pytest.raises(ConfigError, match="names must be distinct"):
        load_pool(path)


def test_files_that_are_no_pool(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such pool file"):
        load_pool(tmp_path / "none.yaml")
    path = tmp_path / "mine.yaml"
    path.write_text("a: [", encoding="utf-8")
    with pytest.raises(ConfigError, match="not valid YAML"):
        load_pool(path)
    path.write_text("", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"mine\.yaml: "):
        load_pool(path)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("skip", "stands for no LLM"),
        ("Skip", "stands for no LLM"),
        ("", "is no name"),
        (" ", "is no name"),
        ("a ", "is no name"),
        ("a\nb", "is no name"),
        ("a\n", "is no name"),
        ("a, b", "is no name"),
        ('a"b', "is no name"),
        ("<a>", "is no name"),
        ("$a$", "is no name"),
        ("_a", "is no name"),
    ],
)
def test_names_that_no_llm_can_have(tmp_path: Path, name: str, fault: str) -> None:
    raw = yaml.safe_load(data_path("llm_pool.yaml").read_text(encoding="utf-8"))
    raw["llms"][1]["name"] = name
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(raw), encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"llms\.1\.name: .*{fault}"):
        load_pool(path)


@pytest.mark.parametrize(
    "name", ["a", "gpt-5 mini (low)", "openai/o3", "qwen3:8b", "c++", "é-1", "a_b", "v1.5@x"]
)
def test_names_that_an_llm_can_have(name: str) -> None:
    assert PAPERS.llms[0].model_validate(PAPERS.llms[0].model_dump() | {"name": name}).name == name


@pytest.mark.parametrize(
    ("client", "url", "address"),
    [
        ("openai", None, None),
        ("openai", "http://host:8000/v1/", "http://host:8000/v1"),
        ("anthropic", "https://host/a@b", "https://host/a@b"),
        ("simulated", "http://host", None),
    ],
)
def test_the_address_of_a_server(client: str, url: str | None, address: str | None) -> None:
    spec = LLMSpec.model_validate(
        {"name": "a", "client": client, "model": "m", "family": "f", "profile": "p"}
        | {"base_url": url}
    )
    assert spec.address == address


@pytest.mark.parametrize("url", ["https://me:s3cret@host/v1", "https://s3cret@host", "//:s3cret@h"])
def test_an_address_with_a_password_is_refused_and_not_shown(tmp_path: Path, url: str) -> None:
    fields = yaml.safe_load(data_path("llm_pool.yaml").read_text())
    fields["llms"][2]["base_url"] = url
    path = tmp_path / "pool.yaml"
    path.write_text(yaml.safe_dump(fields))
    where = r"pool\.yaml: llms\.2\.base_url: .*take them out.*name that by `key_env:`"
    with pytest.raises(ConfigError, match=where) as caught:
        load_pool(path)
    assert "s3cret" not in str(caught.value)
    with pytest.raises(ValueError, match="take them out") as direct:
        LLMPool.model_validate(fields)
    assert "s3cret" not in str(direct.value)


@pytest.mark.parametrize("field", ["input", "output"])
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_prices_that_make_no_sense(tmp_path: Path, field: str, value: float) -> None:
    raw = yaml.safe_load(data_path("llm_pool.yaml").read_text(encoding="utf-8"))
    raw["llms"][0]["price"][field] = value
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(raw), encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"llms\.0\.price\.{field}"):
        load_pool(path)


def test_concurrency_of_nothing_is_refused(tmp_path: Path) -> None:
    raw = yaml.safe_load(data_path("llm_pool.yaml").read_text(encoding="utf-8"))
    raw["llms"][0]["max_concurrency"] = 0
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(raw), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"llms\.0\.max_concurrency"):
        load_pool(path)
