# SPDX-License-Identifier: Apache-2.0
"""stub"""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None: ...
def main(args: argparse.Namespace) -> int:
    return 0
