"""Packages the tool: what a checkout has at its top level, an installed package has in harness/shipped."""

from setuptools import find_packages, setup

SHIPPED = {f"harness.shipped.{name}": name for name in ("plans", "env", "systems", "jmeter")}
DATA = ("css", "j2", "java", "jfc", "jmx", "js", "json", "toml", "typed", "xml")

setup(
    packages=[*find_packages(include=["harness*"]), *SHIPPED],
    package_dir=SHIPPED,
    package_data={"harness": [f"**/*.{ending}" for ending in DATA], **{name: ["**/*"] for name in SHIPPED}},
)
