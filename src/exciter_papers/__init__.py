"""The five papers behind the methods: their tables and figures, run again, published and reached side by side."""

from exciter.files import Seal

FOLDERS = {  #: name on the command line → folder here
    "gautier-khalil-1992": "gautier_khalil",
    "khalil-dombre-ch12": "khalil_dombre",
    "swevers-1997-ieee": "swevers_ieee",
    "swevers-1997-asme": "swevers_asme",
    "rackl-2012": "rackl",
}
NAMES = tuple(FOLDERS)


def paper_seal(name: str) -> Seal:
    """Of the files of a paper that was run again."""
    return Seal(f"{name}.json", (f"{name}.html", f"{name}.*.csv"), f"exciter reproduce {name}")


def paper_seals() -> tuple[Seal, ...]:
    return tuple(map(paper_seal, NAMES))
