# SPDX-License-Identifier: Apache-2.0
"""Shell text -> syntax tree. Pure, and knows no command by name."""
