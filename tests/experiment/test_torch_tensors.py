"""Files of PyTorch: numbers are those that were saved, however they lie; nothing in the file is ever run."""

from __future__ import annotations

import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from exciter.errors import RecordingError
from exciter.experiment.sources import torch_pickle
from exciter.experiment.sources.open_source import open_source
from support.torch_files import Raw, integer, many, named, pickled, save, tensor, text, write_archive


def read(path: Path, columns: str | list[str], **options: bool) -> np.ndarray:
    source = open_source(path, **options)
    return np.concatenate(list(source.blocks(source.find(columns), 7)))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("kind", ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u1", "b1"])
def test_every_kind_of_number(kind: str, packing: int, order: str, tmp_path: Path) -> None:
    values = np.random.default_rng(0).integers(0, 100, (20, 3)).astype(kind)
    path = save(tmp_path / "log.pt", {"q": values, "t": np.arange(20.0)}, order, packing)
    np.testing.assert_array_equal(read(path, "q"), values.astype(float))
    np.testing.assert_array_equal(read(path, ["t", "q[2]"])[:, 1], values[:, 2].astype(float))


def test_half_of_a_single(tmp_path: Path) -> None:
    values = np.array([1.0, -2.5, 3.140625, 0.0078125], dtype=np.float32)
    upper = (values.view(np.uint32) >> 16).astype("<u2").tobytes()
    path = write_archive(tmp_path / "log.pt", pickled({"q": tensor("0", "BFloat16", 4, (4,))}), {"0": upper})
    np.testing.assert_array_equal(read(path, "q")[:, 0], values)


def test_views_of_one_storage(tmp_path: Path) -> None:
    """A slice, a transpose, a row that is repeated, and sides of one, as NumPy has them."""
    base = np.arange(60.0).reshape(12, 5)
    views = {
        "slice": ((6, 2), (10, 1), 7),
        "turned": ((5, 12), (1, 5), 0),
        "same": ((12, 5), (0, 1), 5),
        "ones": ((12, 1, 5), (5, 5, 1), 0),
    }
    content = pickled({name: tensor("0", "Double", 60, *view) for name, view in views.items()})
    path = write_archive(tmp_path / "log.pt", content, {"0": base.tobytes()}, None)
    np.testing.assert_array_equal(read(path, "slice"), base[1::2, 2:4])
    np.testing.assert_array_equal(read(path, "turned", transposed=True), base)
    np.testing.assert_array_equal(read(path, "same"), np.repeat(base[1:2], 12, axis=0))
    np.testing.assert_array_equal(read(path, "ones"), base)


def test_names_of_what_is_nested(tmp_path: Path) -> None:
    log = {"real": {"q": np.arange(4.0), "fps": 50}, "who": "me", "cube": np.zeros((2, 3, 4)), "some": [1.0]}
    source = open_source(save(tmp_path / "log.pt", log))
    assert source.names == ("real/q",)
    for name, why in (("who", "is text"), ("real/fps", "is a single value"), ("cube", r"has the shape \(2, 3, 4\)")):
        with pytest.raises(RecordingError, match=f"'{name}' {why}"):
            source.find(name)
    alone = write_archive(tmp_path / "one.pt", tensor("0", "Float", 6, (3, 2)), {"0": bytes(24)})
    assert open_source(alone).names == ("0", "1")


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("boo",)


CALL = named("torch._utils", "_rebuild_tensor_v2")
STORAGE = many(text("storage"), named("torch", "FloatStorage"), text("0"), text("cpu"), integer(6)) + b"Q"
UNTYPED = named("torch._utils", "_rebuild_tensor_v3")
BYTES = many(text("storage"), named("torch.storage", "UntypedStorage"), text("0"), text("cpu"), integer(24)) + b"Q"
PLACE = (integer(0), many(integer(3)), many(integer(1)))
REFUSED = {
    "evil": (Raw(pickle.dumps({"q": Evil()}, 2)[2:-1]), "would call __builtin__.print, and nothing but plain tensors"),
    "protocol 4": (Raw(pickle.dumps({"q": Evil()}, 4)[2:-1]), "would call builtins.print"),
    "object": (named("my.code", "Robot") + b")R", "would call my.code.Robot"),
    "array": (named("numpy.core.multiarray", "_reconstruct"), r"would call numpy.core.multiarray._reconstruct"),
    "called storage": (named("torch", "FloatStorage") + b")R", "would call torch.FloatStorage"),
    "ordered of something": (named("collections", "OrderedDict") + many(text("a")) + b"R", "collections.OrderedDict"),
    "complex": (named("torch", "ComplexFloatStorage"), "would call torch.ComplexFloatStorage"),
    "old instruction": (Raw(b"I1\n"), "instruction INT, which no log needs"),
    "instance": (Raw(b"(ios\nsystem\n"), "instruction INST"),
    "empty stack": (Raw(b"0"), "instruction POP|takes what was never put there"),
    "no mark": (Raw(b"t"), "takes what was never put there"),
    "memo": (Raw(b"h\x07"), "takes what was never put there"),
    "no container": (Raw(b"J\1\0\0\0J\1\0\0\0a"), "fills what is no container"),
    "odd": (Raw(b"}(J\1\0\0\0u"), "key without a value"),
    "key": (Raw(b"}(]J\1\0\0\0u"), "keys that are no names"),
    "persistent": (Raw(text("0") + b"Q"), "another way than PyTorch"),
    "negative": (tensor("0", "Float", 6, (-3,), (1,)), "a tensor has the size, stride or offset -3"),
    "sides": (CALL + many(STORAGE, integer(0), many(integer(3)), b")", b"\x89", b"N") + b"R", "1 sizes and 0 strides"),
    "beyond": (tensor("0", "Float", 6, (7,)), r"should hold \(7,\) numbers"),
    "offset": (tensor("0", "Float", 6, (3,), (1,), 4), r"should hold \(3,\) numbers"),
    "another storage": (tensor("9", "Float", 6, (6,)), r"\(data/9\) are missing"),
    "untyped": (UNTYPED + many(BYTES, *PLACE, b"\x89", b"N", named("torch", "FloatStorage")) + b"R", "not read"),
    "typed twice": (UNTYPED + many(STORAGE, *PLACE, b"\x89", b"N", named("torch", "uint16")) + b"R", "is not read"),
    "bytes": (CALL + many(BYTES, *PLACE, b"\x89", b"N") + b"R", "has bytes, and says of no kind"),
    "conjugate": (CALL + many(STORAGE, *PLACE, b"\x89", b"N", b"}" + text("conj") + b"\x88s") + b"R", "flags .*conj"),
    "parameter": (named("torch._utils", "_rebuild_parameter") + many(text("a"), b"\x89", b"N") + b"R", "would call"),
    "length": (tensor("0", "Double", 6, (6,)), "and has 24 bytes"),
    "nothing": (Raw(b"N"), "holds no tensors of numbers"),
    "no end": (Raw(b""), "takes what was never put there"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_whatever_else_it_says_is_refused_by_name(case: tuple[bytes, str], tmp_path: Path, capsys) -> None:
    content, message = case
    path = write_archive(tmp_path / "log.pt", content, {"0": bytes(24)})
    with pytest.raises(RecordingError, match=message) as told:
        open_source(path)
    assert "\n" not in str(told.value)
    assert capsys.readouterr().out == ""


def test_containers_without_end_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = b"]" + b"q\0" + b"(" + b"h\0" * 50 + b"e"  # holds itself
    with pytest.raises(RecordingError, match=r"more than (100000 entries|16 deep)"):
        open_source(write_archive(tmp_path / "log.pt", inner, {}))
    doubled = b"]q\0" + b"".join(
        b"](" + b"h" + bytes([k]) + b"h" + bytes([k]) + b"eq" + bytes([k + 1]) for k in range(15)
    )
    with pytest.raises(RecordingError, match=r"holds no tensors|entries"):
        open_source(write_archive(tmp_path / "log.pt", doubled, {}))
    monkeypatch.setattr(torch_pickle, "MOST_INSTRUCTIONS", 10)
    with pytest.raises(RecordingError, match="more than 10 instructions"):
        open_source(write_archive(tmp_path / "log.pt", b"}" + b"q\0" * 20, {}))


def test_repeated_rows_take_no_memory_before_they_are_counted(tmp_path: Path) -> None:
    path = write_archive(
        tmp_path / "log.pt", pickled({"q": tensor("0", "Float", 6, (2**30, 1), (0, 1))}), {"0": bytes(24)}
    )
    with pytest.raises(RecordingError, match=r"need 8589934592 bytes at once"):
        read(path, "q")


def test_other_archives(tmp_path: Path) -> None:
    old = tmp_path / "old.pt"
    old.write_bytes(pickle.dumps(119547037146038801333356, 2))
    with pytest.raises(RecordingError, match=r"is no archive, as old versions wrote none .*; save it by a PyTorch of"):
        open_source(old)
    with zipfile.ZipFile(tmp_path / "log.pt", "w") as archive:
        archive.writestr("something", b"else")
    with pytest.raises(RecordingError, match=r"has no data.pkl"):
        open_source(tmp_path / "log.pt")
    path = write_archive(
        tmp_path / "big.pt", pickled({"q": tensor("0", "Float", 6, (6,))}), {"0": bytes(24)}, b"middle"
    )
    with pytest.raises(RecordingError, match=r"has the byte order b'middle'; little and big are read"):
        open_source(path)
    long = write_archive(tmp_path / "long.pt", b"X" + struct.pack("<I", 1 << 23) + bytes(1 << 23), {})
    with pytest.raises(RecordingError, match=r"its data.pkl has 838\d+ bytes, at most 4194304 are read"):
        open_source(long)


LOGS = Path(__file__).parents[1] / "logs"  # saved by PyTorch itself, as make_torch_saved.py there says


def test_what_torch_saved() -> None:
    """Views, numbers of unusual kinds and negated ones are those of PyTorch; its old format is refused in a line."""
    base, path = np.arange(60.0).reshape(12, 5), LOGS / "torch_saved.pt"
    wanted = {
        "q": base,
        "slice": base[1::2, 2:4],
        "same": np.repeat(base[1:2], 12, axis=0),
        "half": base,
        "ticks": base[2:],
        "opposite": -base,
        "weight": base,
        "deep/list/0": base[:, :1],
        "deep/list/1/0": base[:, 1:2],
        "time": np.float32(np.arange(12) / 50)[:, None],
    }
    for name, values in wanted.items():
        np.testing.assert_array_equal(read(path, name), values, err_msg=name)
    np.testing.assert_array_equal(read(path, "turned", transposed=True), base)
    with pytest.raises(RecordingError, match="'deep/rate' is a single value"):
        open_source(path).find("deep/rate")
    with pytest.raises(RecordingError, match=r"is no archive, as old versions wrote none \(_use_new_zipfile"):
        open_source(LOGS / "torch_legacy.pt")


def test_as_torch_saves_it(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    base = torch.arange(60, dtype=torch.float32).reshape(12, 5)
    log = {"time": torch.arange(12) / 50, "q": base.T, "half": base.to(torch.bfloat16), "deep": {"tail": base[3:, 1:3]}}
    for protocol in (2, 4):
        path = tmp_path / f"log{protocol}.pt"
        torch.save(log, path, pickle_protocol=protocol)
        np.testing.assert_array_equal(read(path, "q", transposed=True), base.numpy())
        np.testing.assert_array_equal(read(path, "half"), base.numpy())
        np.testing.assert_array_equal(read(path, "deep/tail"), base[3:, 1:3].numpy())
        np.testing.assert_allclose(read(path, "time")[:, 0], np.arange(12) / 50, rtol=1e-6)
