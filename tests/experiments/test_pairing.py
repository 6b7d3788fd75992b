"""The notebook is a pure function of its percent-format source."""

import json
from pathlib import Path

import pytest

from hieramas_lib.errors import ConfigError
from hieramas_lib.experiments.pairing import pair, render, sources

SOURCE = """\
# %% [markdown]
# # A heading

# %% tags=["parameters"] extra="dropped"
seed = 0  # a seed

# %%
print(seed)

# %%
print(seed)
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "01_demo.py"
    path.write_text(SOURCE)
    return path


def test_cells_tags_and_kernel_arrive_and_nothing_else(source: Path) -> None:
    notebook = json.loads(render(source))
    assert [cell["cell_type"] for cell in notebook["cells"]] == ["markdown", *["code"] * 3]
    assert [cell["metadata"] for cell in notebook["cells"]] == [
        {},
        {"tags": ["parameters"]},
        {},
        {},
    ]
    assert all(cell["outputs"] == [] for cell in notebook["cells"][1:])
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}


def test_ids_are_unique_and_an_edit_changes_one(source: Path) -> None:
    before = [cell["id"] for cell in json.loads(render(source))["cells"]]
    source.write_text(SOURCE.replace("# # A heading", "# # Another"))
    after = [cell["id"] for cell in json.loads(render(source))["cells"]]
    assert len(set(before)) == 4
    assert [a != b for a, b in zip(before, after, strict=True)] == [True, False, False, False]


def test_pair_writes_once(source: Path) -> None:
    assert pair(source)
    assert not pair(source)
    assert source.with_suffix(".ipynb").read_text() == render(source)
    source.write_text(SOURCE + "\n# %%\nprint(1)\n")
    assert pair(source)


def test_sources_are_numbered_files_in_order(source: Path) -> None:
    for name in ("00_first.py", "my_notes.py", "02_x.txt"):
        (source.parent / name).write_text("")
    assert [path.name for path in sources(source.parent)] == ["00_first.py", "01_demo.py"]


def test_missing_source_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"03_none\.py"):
        render(tmp_path / "03_none.py")
