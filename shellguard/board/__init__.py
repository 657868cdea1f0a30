# SPDX-License-Identifier: Apache-2.0
"""A board of cards: work that waits, who works at it, and what came of it. Needs the extra `workers`."""
