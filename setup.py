"""Packages the tool: what a checkout has at its top level, an installed package has in harness/shipped."""

import re
from pathlib import Path

from setuptools import find_packages, setup

SHIPPED = {f"harness.shipped.{name}": name for name in ("plans", "env", "systems", "jmeter", "docs")}
FILES = {"harness.shipped.docs": ["*.md"]}
DATA = ("css", "j2", "java", "jfc", "jmx", "js", "json", "lock", "toml", "typed", "xml")


def pins(file):
    """Return the packages in a file of requirements without their hashes, which only pip reads."""
    return re.findall(r"^[\w.-]+==[^\s\\]+", (Path(__file__).parent / file).read_text(), re.MULTILINE)


setup(
    install_requires=pins("requirements.txt"),
    extras_require={
        name: pins(f"requirements/{name}.txt") for name in ("mcp", "openapi", "otlp", "parquet", "record", "zstd")
    },
    packages=[*find_packages(include=["harness*"]), *SHIPPED],
    package_dir=SHIPPED,
    package_data={
        "harness": [f"**/*.{ending}" for ending in DATA],
        **{name: FILES.get(name, ["**/*"]) for name in SHIPPED},
    },
)
