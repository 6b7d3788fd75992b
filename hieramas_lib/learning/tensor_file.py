"""Tensors and the facts about them in one file: safetensors with JSON in its header, no pickle."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from hieramas_lib.errors import ConfigError


def write_tensors(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Write ``tensors`` and ``about`` (JSON values), so that the file is there whole or not at all.

    The header also holds a digest of both, as safetensors itself does not check what it reads.
    """
    from safetensors.torch import save_file

    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    whole = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    text = json.dumps(about, ensure_ascii=False)
    header = {"about": text, "digest": digest_of(whole, text)}
    save_file(whole, part, metadata=header)
    os.replace(part, path)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read back what :func:`write_tensors` wrote: the tensors, and what is known about them.

    Raises:
        ConfigError: the file is missing, damaged or of another origin.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
        text, digest = header["about"], header["digest"]
        about = json.loads(text)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (SafetensorError, ValueError, KeyError) as error:
        raise ConfigError(f"{path}: damaged, or not written by this library: {error}") from None
    if digest != digest_of(tensors, text):
        raise ConfigError(f"{path}: damaged: it does not hold what was written")
    return tensors, about


def digest_of(tensors: Mapping[str, Tensor], text: str = "") -> str:
    """Hash names, types, shapes and values of ``tensors``, and a text: 32 hex digits."""
    digest = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16)
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.detach().contiguous().numpy().tobytes())
    return digest.hexdigest()
