# SPDX-License-Identifier: Apache-2.0
"""Tree and rules to facts. Pure: no file, clock, process or network, and of the rules only what a shelf hands out."""
