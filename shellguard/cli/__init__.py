# SPDX-License-Identifier: Apache-2.0
"""The command line: arguments and printing. No decisions are made here."""
