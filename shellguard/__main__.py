# SPDX-License-Identifier: Apache-2.0
"""`python -m shellguard` is the command `shellguard`."""

from __future__ import annotations

from shellguard.cli.start import main

if __name__ == "__main__":
    main()
