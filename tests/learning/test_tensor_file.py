"""One file of tensors: what is read is what was written, or an error."""

import pytest
import torch
from safetensors.torch import save_file

from hieramas_lib.errors import ConfigError
from hieramas_lib.learning.tensor_file import digest_of, read_tensors, write_tensors

TENSORS = {
    "a": torch.tensor([[1.0, -2.5], [0.1, 3.0]]),
    "b": torch.tensor(7, dtype=torch.int64),
    "c": torch.tensor([True, False]).expand(3, 2),
}


def test_what_is_read_is_what_was_written(tmp_path):
    about = {"text": "ä", "number": 0.1, "big": 2**100}
    write_tensors(tmp_path / "new" / "x.safetensors", TENSORS, about)
    tensors, facts = read_tensors(tmp_path / "new" / "x.safetensors")
    assert facts == about
    assert tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert torch.equal(tensors[name], tensor) and tensors[name].dtype == tensor.dtype
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["x.safetensors"]  # nothing left over


def test_every_damaged_byte_is_noticed(tmp_path):
    path = tmp_path / "x.safetensors"
    write_tensors(path, {"a": torch.tensor([1.5])}, {"n": 1})
    whole = path.read_bytes()
    for position in range(len(whole)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        try:
            tensors, about = read_tensors(path)
        except ConfigError as error:
            assert str(path) in str(error)
        else:  # a flip in the header's padding, which means nothing
            assert torch.equal(tensors["a"], torch.tensor([1.5])) and about == {"n": 1}
    for length in (0, 5, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ConfigError, match="damaged"):
            read_tensors(path)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.safetensors: cannot be read"):
        read_tensors(tmp_path / "none.safetensors")
    foreign = tmp_path / "foreign.safetensors"
    save_file({"a": torch.ones(2)}, foreign)
    with pytest.raises(ConfigError, match="not written by this library"):
        read_tensors(foreign)


def test_digest_tells_names_types_shapes_and_values_apart():
    one = torch.zeros(4)
    others = [
        {"b": one},
        {"a": one.reshape(2, 2)},
        {"a": one.double()},
        {"a": torch.tensor([0.0, 0.0, 0.0, -0.0])},
        {"a": one, "b": one},
    ]
    digests = {digest_of(tensors) for tensors in [{"a": one}, *others]}
    assert len(digests) == 6
    assert digest_of({"a": one, "b": one}) == digest_of({"b": one, "a": one})
