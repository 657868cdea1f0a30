# SPDX-License-Identifier: Apache-2.0
"""What a word is known to be, without running anything. Pure."""
