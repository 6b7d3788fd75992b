"""The papers' printed numbers, with their sources: they stand beside ours and are not ours."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, TypeAdapter

from hieramas_lib.errors import ConfigError
from hieramas_lib.paths import data_path

if TYPE_CHECKING:
    import pandas as pd

Value = int | float | str | None


class _Printed(BaseModel):
    """One table of ``data/published``; a cell that could not be recovered is null."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    remark: str
    rows: tuple[dict[str, Value], ...]


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """Numbers printed in a paper.

    Attributes:
        frame: One row an entry. ``accuracy`` is a share from 0 to 1, ``n`` the number of test
            questions that follows from the percentages, ``total_usd`` the cost of all of them and
            ``training_usd`` of the training. Table 1 is as printed: percent, a column for each
            benchmark and backbone, NaN where a cell is not known.
        caption: Says that the numbers are not ours, where they are from, and what is odd there.
    """

    frame: "pd.DataFrame"
    caption: str


def published_table(name: str) -> PublishedTable:
    """Return what one of the papers prints as ``name``.

    Args:
        name: ``"table1"``, ``"table2"``, ``"table3"``, ``"table4"``, ``"table6"``, ``"table7"``,
            ``"tables8-10"``, ``"table11"`` or ``"figure3"`` of the HieraMAS paper;
            ``"qmix_gpt_oss_120b"``, ``"qmix_one_faulty_agent"`` or ``"qmix_hle"`` of the other.

    Raises:
        ConfigError: no such table is kept.
    """
    import pandas as pd

    tables = _tables()
    if name not in tables:
        raise ConfigError(f"no published table {name!r}; there are {', '.join(tables)}")
    printed = tables[name]
    return PublishedTable(
        pd.DataFrame(list(printed.rows)),
        f"Published, not ours: {printed.source}. {printed.remark}",
    )


def _tables() -> dict[str, _Printed]:
    first = data_path("published", "hieramas_table1.json").read_text(encoding="utf-8")
    several = TypeAdapter(dict[str, _Printed])
    others = data_path("published", "hieramas_tables.json").read_text(encoding="utf-8")
    qmix = data_path("published", "agent_qmix.json").read_text(encoding="utf-8")
    return {
        "table1": _Printed.model_validate_json(first),
        **several.validate_json(others),
        **{f"qmix_{name}": table for name, table in several.validate_json(qmix).items()},
    }
