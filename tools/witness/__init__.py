# SPDX-License-Identifier: Apache-2.0
"""The witness: runs a command for real in a throwaway world, watches it, and holds that against our verdict."""
