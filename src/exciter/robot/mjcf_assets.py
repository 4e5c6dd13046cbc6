"""The files that the assets of an MJCF name: where they lie, and the meshes among them."""

from __future__ import annotations

from os.path import isfile  # false, too, for a name that is too long
from pathlib import Path, PurePosixPath
from xml.etree.ElementTree import Element

import numpy as np

from exciter.robot.geometry import Shape
from exciter.robot.mjcf_settings import Classes, Compiler, resolved
from exciter.robot.xml_safety import asset_path, numbers

FILE_ATTRIBUTES = ("file", "fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")


def absent_assets(root: Element, compiler: Compiler, path: Path, mesh_root: Path) -> list[str]:
    """Every file an asset names stays below the root; those that do not exist are returned."""
    absent = []
    for section in root.findall("asset"):
        for asset in section.iter():
            for attribute in FILE_ATTRIBUTES:
                if asset.get(attribute):
                    reference = _reference(asset, attribute, compiler)
                    if not isfile(asset_path(reference, path.parent, mesh_root)):
                        absent.append(reference)
    return absent


def asset_meshes(root: Element, compiler: Compiler, classes: Classes, path: Path, mesh_root: Path) -> dict[str, Shape]:
    """The meshes that lie in files, by name; without those that MuJoCo moves as it reads them."""
    found = {}
    for section in root.findall("asset"):
        for element in section.findall("mesh"):
            mesh = resolved(element, classes, "main")
            if not mesh.get("file") or mesh.get("refpos") or mesh.get("refquat"):
                continue
            file = asset_path(_reference(mesh, "file", compiler), path.parent, mesh_root)
            name = mesh.get("name") or file.stem
            scale = numbers(mesh, "scale", 3, f"mesh '{name}'") or (1.0, 1.0, 1.0)
            found[name] = Shape("mesh", -1, scale, np.eye(3), np.zeros(3), mesh=str(file))
    return found


def _reference(asset: Element, attribute: str, compiler: Compiler) -> str:
    """What an attribute names, seen from the description."""
    reference = asset.get(attribute, "")
    if compiler.strip_path:
        reference = PurePosixPath(reference.replace("\\", "/")).name
    if "://" in reference:
        return reference
    folder = compiler.texture_folder if asset.tag == "texture" else compiler.mesh_folder
    return str(PurePosixPath(folder.replace("\\", "/")) / reference)
