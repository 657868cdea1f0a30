# SPDX-License-Identifier: Apache-2.0
"""Recorded runs of agents, read into one stream of calls: one file a format. Nothing here judges or runs anything."""
