"""The five papers behind the methods: their tables and figures, run again, published and reached side by side."""

FOLDERS = {  #: name on the command line → folder here
    "gautier-khalil-1992": "gautier_khalil",
    "khalil-dombre-ch12": "khalil_dombre",
    "swevers-1997-ieee": "swevers_ieee",
    "swevers-1997-asme": "swevers_asme",
    "rackl-2012": "rackl",
}
NAMES = tuple(FOLDERS)
