"""How torch_saved.pt and torch_legacy.pt were made: by PyTorch 2.15, in a throw-away environment."""

import collections
from pathlib import Path

import torch

base = torch.arange(60, dtype=torch.float64).reshape(12, 5)
log = {
    "time": torch.arange(12) / 50,
    "q": base,
    "turned": base.T,
    "slice": base[1::2, 2:4],
    "same": base[1:2].expand(12, 5),
    "half": base.to(torch.bfloat16),
    "ticks": base.to(torch.uint16)[2:],
    "opposite": torch._neg_view(base),  # a view that says nothing but that its numbers are negated
    "weight": torch.nn.Parameter(base.float()),
    "deep": collections.OrderedDict(list=[base[:, 0], (base[:, 1],)], rate=50, who="me", nothing=None),
}
folder = Path(__file__).parent
torch.save(log, folder / "torch_saved.pt")
torch.save({"q": base}, folder / "torch_legacy.pt", _use_new_zipfile_serialization=False)
