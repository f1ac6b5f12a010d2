"""A site of Wagtail on a free port, with users who may do everything: python wagtail_site.py FOLDER PASSWORD USERS."""

import os
import subprocess
import sys
from pathlib import Path

_MODELS = """
from wagtail.admin.panels import FieldPanel
from wagtail.fields import RichTextField
from wagtail.models import Page


class HomePage(Page):
    body = RichTextField(blank=True)
    content_panels = [*Page.content_panels, FieldPanel("body")]
"""
_SETTINGS = """
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
WAGTAIL_ENABLE_UPDATE_CHECK = False
DATABASES["default"]["OPTIONS"] = {
    "timeout": 30, "transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL"
}
"""


def main(folder: Path, password: str, users: int) -> None:
    """Make a site with `wagtail start`, whose pages have a rich text, and serve it until this process is ended."""
    folder.mkdir(parents=True)
    subprocess.run([str(Path(sys.executable).with_name("wagtail")), "start", "mysite", str(folder)], check=True,
                   stdout=subprocess.DEVNULL)  # fmt: skip
    (folder / "home" / "models.py").write_text(_MODELS)
    with (folder / "mysite" / "settings" / "base.py").open("a") as file:
        file.write(_SETTINGS)
    os.environ["DJANGO_SETTINGS_MODULE"] = "mysite.settings.dev"
    sys.path.insert(0, str(folder))
    import django

    django.setup()
    from django.contrib.auth.models import User
    from django.contrib.staticfiles.handlers import StaticFilesHandler
    from django.core.management import call_command
    from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
    from django.core.wsgi import get_wsgi_application

    call_command("makemigrations", "home", verbosity=0)
    call_command("migrate", verbosity=0)
    for number in range(users):
        User.objects.create_superuser(f"user{number}", password=password)
    WSGIRequestHandler.log_message = lambda *_: None
    server = ThreadedWSGIServer(("127.0.0.1", 0), WSGIRequestHandler, ipv6=False)
    server.set_app(StaticFilesHandler(get_wsgi_application()))
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
