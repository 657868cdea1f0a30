# SPDX-License-Identifier: Apache-2.0
"""Paths of your own that are sensitive, laid over the shipped list."""

from __future__ import annotations

from shellguard.rules.model import CredentialPaths, Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shellguard.rules.model import Answer, Variables
    from shellguard.rules.shelf import Shelf


class MorePaths:
    """A shelf whose list of sensitive paths is longer. `analysis` asks no more of a shelf than this."""

    __slots__ = ("_base", "paths")

    def __init__(self, base: Shelf, patterns: tuple[str, ...]) -> None:
        self._base = base
        known = [(Pattern(pattern), 1) for pattern in patterns]
        self.paths = _Both(base.paths, CredentialPaths("config.toml", tuple(known), (), 1))

    def get(self, name: str) -> Answer:
        """The rule of a command."""
        return self._base.get(name)

    @property
    def variables(self) -> Variables:
        """What is known of environment variables."""
        return self._base.variables


class _Both(CredentialPaths):
    """What either list calls sensitive is."""

    __slots__ = ("_first", "_second")

    def __init__(self, first: CredentialPaths, second: CredentialPaths) -> None:
        super().__init__(first.path, first.sensitive, first.not_sensitive, first.line)
        self._first, self._second = first, second

    def line_for(self, name: str) -> int | None:
        return self._first.line_for(name) or self._second.line_for(name)

    def place_for(self, name: str) -> tuple[str, int] | None:
        return self._first.place_for(name) or self._second.place_for(name)
