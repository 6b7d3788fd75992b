"""Read a YAML file that a user may have written, and say what is wrong with it."""

from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from hieramas_lib.errors import ConfigError

Model = TypeVar("Model", bound=BaseModel)


def read_yaml(path: Path, model: type[Model]) -> Model:
    """Return the content of ``path`` as a ``model``.

    Raises:
        ConfigError: the file cannot be read, is not UTF-8 or not YAML, or a field is missing,
            unknown or malformed; names the file and every such field.
    """
    try:
        return model.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not UTF-8; save the file as UTF-8") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    except ValidationError as error:
        raise ConfigError(f"{path}: {_faults(error, model)}") from None


def _faults(error: ValidationError, model: type[BaseModel]) -> str:
    faults = []
    for fault in error.errors():
        field = ".".join(map(str, fault["loc"])) or "file"
        faults.append(f"{field}: {fault['msg'].removeprefix('Value error, ')}")
        if fault["type"] == "extra_forbidden" and len(fault["loc"]) == 1:
            faults[-1] += f"; the fields are {', '.join(model.model_fields)}"
    return "; ".join(faults)
