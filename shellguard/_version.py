# SPDX-License-Identifier: Apache-2.0
"""The version of shellguard. The build reads it from here; nothing else states it."""

__version__ = "0.1.0"
