# SPDX-License-Identifier: Apache-2.0
"""`shellguard rules trust`: let rule files of a project make verdicts milder."""

from __future__ import annotations

import os
import sys

import rich_click as click

from shellguard.cli.shelves import current_folder, say
from shellguard.errors import RuleError
from shellguard.explain import visible
from shellguard.rules.compiled import COMMON

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.rules.overlay import Layer


@click.command()
@click.argument("files", nargs=-1, type=click.Path())
@click.option(
    "--list", "listing", is_flag=True, help="List the files that are trusted, and whether they still are."
)
@click.option(
    "--revoke", is_flag=True, help="Take the trust back: in FILES, or in all files of this project."
)
def trust(files: tuple[str, ...], listing: bool, revoke: bool) -> None:
    """Trust rule files of a project: FILES, or all of the project that the current folder lies in.

    Until then such a file makes verdicts stricter, never milder. Look at a file before you trust it. What is trusted is
    its content: a changed file has to be trusted again. The list lies in your state folder.
    """
    from shellguard.rules.trust import Trusted, store

    if listing and (revoke or files):
        raise click.UsageError("--list goes with nothing else.")
    trusted = Trusted.read()
    if listing:
        _list_trusted(trusted.entries)
        return
    if revoke:
        paths = (
            [os.path.realpath(_given(file)) for file in files] if files else _project_files(trusted.entries)
        )
        forgotten = trusted.forget(paths)
        if forgotten:
            trusted.write()
        for path in forgotten:
            say(f"revoked  {path}")
        if files and len(forgotten) < len(files):
            say("the others were not trusted", err=True)
            sys.exit(1)
        return
    layers = _trustable_layers()
    chosen = _chosen(files, layers)
    failed = False
    for layer, path in chosen:
        shown = f"{layer.label}/{path}"
        try:
            _load_any(layer, path)
            trusted.add(os.path.realpath(os.path.join(layer.folder, path)), layer.files[path])
            say(f"trusted  {shown}")
        except (RuleError, ValueError) as error:
            failed = True
            say(str(error) if isinstance(error, RuleError) else f"{shown}: {error}", err=True)
    try:
        trusted.write()
    except OSError as error:
        raise click.ClickException(f"{store()} cannot be written: {error}") from error
    if Trusted.read().entries != trusted.entries:
        raise click.ClickException(
            f"others can write to {os.path.dirname(store())}, so nothing there is trusted"
        )
    sys.exit(1 if failed else 0)


def _list_trusted(known: dict[str, str]) -> None:
    from shellguard.rules.tree import read_bytes
    from shellguard.rules.trust import digest_of

    for path, digest in sorted(known.items()):
        try:
            same = digest_of(read_bytes(path, os.path.dirname(path), path)) == digest
            state = "trusted" if same else "changed"
        except RuleError:
            state = "gone"
        say(f"{state:<8} {path}")


def _given(file: str) -> str:
    """A file as it was named: by its path, or as messages name it, from the root of the project."""
    if os.path.lexists(file):
        return file
    for layer in _trustable_layers(strict=False):
        path = file.removeprefix(f"{layer.label}/")
        if path != file and path in layer.files:
            return os.path.join(layer.folder, path)
    return file


def _project_files(known: dict[str, str]) -> list[str]:
    folders = [layer.folder + os.sep for layer in _trustable_layers(strict=False)]
    return [path for path in known if path.startswith(tuple(folders))] if folders else []


def _trustable_layers(*, strict: bool = True) -> list[Layer]:
    """The layers of the project, or, with `strict`, a refusal where trust could not be kept out of its reach."""
    from shellguard import places
    from shellguard.rules.overlay import layers_for

    layers = [layer for layer in layers_for(current_folder()) if not layer.own]
    if strict:
        state = os.path.realpath(places.folder("state"))
        home = os.path.realpath(os.path.expanduser("~"))
        for layer in layers:
            root = os.path.dirname(os.path.dirname(layer.folder))
            if root != home and (state + os.sep).startswith(root.rstrip(os.sep) + os.sep):
                raise click.UsageError(
                    "The state folder lies inside the project, which could then trust itself."
                )
    return layers


def _chosen(files: tuple[str, ...], layers: list[Layer]) -> list[tuple[Layer, str]]:
    if not files:
        if not layers:
            raise click.UsageError("No project here has a folder .shellguard/rules.")
        return [(layer, path) for layer in layers for path in sorted({*layer.files, *layer.refused})]
    by_file = {
        os.path.realpath(os.path.join(layer.folder, path)): (layer, path)
        for layer in layers
        for path in (*layer.files, *layer.refused)
    }
    chosen = []
    for file in files:
        found = by_file.get(os.path.realpath(_given(file)))
        if found is None:
            raise click.UsageError(f"{visible(file)} is no rule file of this project (.shellguard/rules).")
        chosen.append(found)
    return chosen


def _load_any(layer: Layer, path: str) -> None:
    """Loads a file of a layer to see whether it can be used. Raises RuleError."""
    from shellguard.rules.load import load_common
    from shellguard.rules.tree import decoded

    if path in layer.refused:
        raise layer.refused[path]
    if path in COMMON:
        shown = f"{layer.label}/{path}"
        load_common(path, decoded(layer.files[path], shown), shown)
    else:
        layer.load(path)
