# SPDX-License-Identifier: Apache-2.0
"""Keep worker processes alive, bounded and resumable."""
