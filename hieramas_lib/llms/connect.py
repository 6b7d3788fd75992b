"""From a pool file to LLMs that answer, with everything checked before the first call."""

import hashlib
import importlib.util
import os
from typing import TYPE_CHECKING

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.addresses import checked_address
from hieramas_lib.llms.budget import Budget
from hieramas_lib.llms.call_store import CallStore
from hieramas_lib.llms.chat import LLMClient
from hieramas_lib.llms.pool import LLMPool, LLMSpec
from hieramas_lib.llms.service import LLMService

if TYPE_CHECKING:
    from hieramas_lib.llms.world import World


def connect(
    pool: LLMPool,
    *,
    store: CallStore | None = None,
    budget: Budget | None = None,
    world: "World | None" = None,
) -> LLMService:
    """Make the clients of a pool and the service in front of them.

    Args:
        pool: The LLMs.
        store: Where calls are kept; None for a store in memory, without request texts if
            all of the pool is simulated. In mode ``replay`` no client is made and no key needed.
        budget: Limit on the calls made.
        world: What simulated LLMs know; needed by a pool that has some.

    Raises:
        ConfigError: a key, a GGUF file, a package or the world is missing, or the address in an
            SDK's variable holds a password; names what is at fault and the fix. Nothing has been
            called by then.
    """
    simulated = [spec for spec in pool.llms if spec.client == "simulated"]
    if store is None:
        store = CallStore(None, keep_requests=len(simulated) < len(pool.llms))
    specs = () if store.mode == "replay" else pool.llms
    clients = {spec.name: _client(spec, world) for spec in specs}
    origins = {spec.name: _origin(spec, store, world) for spec in pool.llms}
    return LLMService(pool, clients, store, budget, origins=origins, world=world)


def _client(spec: LLMSpec, world: "World | None") -> LLMClient:
    """Make one client; its SDK is imported here and not before."""
    if spec.client == "simulated":
        from hieramas_lib.llms.simulated import SimulatedClient

        return SimulatedClient(spec, _known(world, spec))
    if spec.client == "local":
        _require("xllamacpp", spec, "run `make run` without LOCAL=0, or `pip install xllamacpp`")
        from hieramas_lib.llms.local_client import LocalClient

        return LocalClient(spec)
    key = _key(spec)
    if spec.client == "openai":
        from hieramas_lib.llms.openai_client import OpenAIClient

        return OpenAIClient(spec, key)
    from hieramas_lib.llms.anthropic_client import AnthropicClient

    return AnthropicClient(spec, key)


def _known(world: "World | None", spec: LLMSpec) -> "World":
    if world is None:
        raise ConfigError(f"LLM {spec.name!r} is simulated: give connect() a `world`")
    return world


def _origin(spec: LLMSpec, store: CallStore, world: "World | None") -> str | None:
    """Say where an LLM is, so that one store can hold the calls of several of one id."""
    if spec.client == "simulated":
        return _world_of(spec, _known(world, spec))
    if spec.client == "local":
        return _local_origin(spec, store)
    return spec.address or _default_address(f"{spec.client.upper()}_BASE_URL")


def _default_address(variable: str) -> str | None:
    """Return the address that an SDK reads from ``variable``; None if it is not set."""
    url = os.environ.get(variable, "").strip()
    try:
        return checked_address(url) if url else None
    except ValueError as error:
        raise ConfigError(f"environment variable {variable}: {error}") from None


def _local_origin(spec: LLMSpec, store: CallStore) -> str | None:
    from hieramas_lib.llms.local_client import file_identity, gguf_path, identity_in, local_origin

    try:
        return local_origin(spec, file_identity(gguf_path(spec)))
    except ConfigError:
        if store.mode != "replay":
            raise
        # A tape can be replayed where the model is not.
        stored = store.origin_of(spec.client, spec.model)
        return None if stored is None else local_origin(spec, identity_in(stored))


def _world_of(spec: LLMSpec, world: "World") -> str:
    """Name all that the answers of a simulated LLM follow from, but for the request.

    Tasks do not count: adding one changes no answer to another. Nor do limits on calls.
    """
    of_spec = spec.model_dump_json(exclude={"max_concurrency", "max_per_minute"})
    facts = f"{of_spec} {world.settings.model_dump_json()}"
    digest = hashlib.blake2b(facts.encode(), digest_size=6).hexdigest()
    return f"{world.settings.name}, seed {world.seed}, {digest}"


def _key(spec: LLMSpec) -> str | None:
    """Read the key from the environment, the only place keys are read from; None if none is due."""
    if spec.key_env is None:
        return None
    key = os.environ.get(spec.key_env, "").strip()
    if not key:
        raise ConfigError(
            f"LLM {spec.name!r} needs a key in the environment variable {spec.key_env}, which is "
            f"not set: run `export {spec.key_env}=...` before starting, or use the simulated twin "
            "of this pool (`pool.simulated()`)"
        )
    return key


def _require(package: str, spec: LLMSpec, fix: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise ConfigError(f"LLM {spec.name!r} needs the package {package}: {fix}")
