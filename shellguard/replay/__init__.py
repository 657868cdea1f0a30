# SPDX-License-Identifier: Apache-2.0
"""Recorded runs through the classifier and the guard: what would have happened, and what a changed rule moves."""
