# SPDX-License-Identifier: Apache-2.0
"""The file that `shellguard install` has hosts run: `PYTHON -I -S .../shellguard/hook.py HOST`.

It is compiled at every call, so it only says where the rest is. Its place and its arguments stay what they
are: some hosts trust a hook by the text of its line.
"""

if __name__ == "__main__":
    import sys

    sys.path.insert(0, __file__.replace("\\", "/").rsplit("/", 2)[0])
    from shellguard.cli.start import hook

    hook(sys.argv[1:])
