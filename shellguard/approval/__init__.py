# SPDX-License-Identifier: Apache-2.0
"""Ask a person before a command that nobody should run unasked, and lose no work over it."""
