"""YAML files as users write them, and what is said where they are wrong."""

from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, model_validator

from hieramas_lib.errors import ConfigError
from hieramas_lib.llms.yaml_file import read_yaml


class Shop(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    prices: dict[str, float] = {}

    @model_validator(mode="after")
    def _check(self) -> "Shop":
        if not self.name:
            raise ValueError("name: must not be empty")
        return self


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_editors_marks_and_line_ends_do_not_matter(
    tmp_path: Path, encoding: str, newline: str
) -> None:
    path = tmp_path / "shop.yaml"
    path.write_bytes(
        newline.join(["name: Käse & Brot", "prices:", "  crème: 2.5"]).encode(encoding)
    )
    assert read_yaml(path, Shop) == Shop(name="Käse & Brot", prices={"crème": 2.5})


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"name: K\xe4se", "shop.yaml: not UTF-8; save the file as UTF-8"),
        (b"name: [", "shop.yaml: not valid YAML: .* line 1"),
        (b"", "shop.yaml: file: Input should be a valid dictionary"),
        (b"nam: x", r"name: Field required; nam: Extra .*; the fields are name, prices$"),
        (b"name: x\nprices: {milk: dear}", r"shop.yaml: prices.milk: .* valid number"),
        (b"name: ''", "shop.yaml: file: name: must not be empty"),
        (b"name: !!python/object/apply:os.getcwd []", "shop.yaml: not valid YAML: .*python/object"),
    ],
)
def test_faults_name_file_and_field(tmp_path: Path, content: bytes, fault: str) -> None:
    path = tmp_path / "shop.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=fault):
        read_yaml(path, Shop)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(ConfigError, match=f"{path}: cannot be read"):
            read_yaml(path, Shop)
