"""Django's admin on a free port, with users who may do everything; arguments: FOLDER PASSWORD USERS."""

import sys
from pathlib import Path

import django
from django.conf import settings
from django.core.management import call_command
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler


class QuietHandler(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def main(folder: Path, password: str, users: int) -> None:
    """Serve until this process is ended; print the port first."""
    settings.configure(
        SECRET_KEY="only for tests", ALLOWED_HOSTS=["127.0.0.1"], ROOT_URLCONF="tests.support.django_urls",
        STATIC_URL="/static/", USE_TZ=True, DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
        INSTALLED_APPS=[f"django.contrib.{name}" for name in
                        ("admin", "auth", "contenttypes", "sessions", "messages", "staticfiles")],
        MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware", "django.middleware.csrf.CsrfViewMiddleware",
                    "django.contrib.auth.middleware.AuthenticationMiddleware",
                    "django.contrib.messages.middleware.MessageMiddleware"],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": folder / "db.sqlite3", "OPTIONS": {
            "timeout": 30, "transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL"}}},
        TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True, "OPTIONS": {
            "context_processors": [f"django.{name}" for name in (
                "template.context_processors.request", "contrib.auth.context_processors.auth",
                "contrib.messages.context_processors.messages")]}}],
    )  # fmt: skip
    django.setup()
    call_command("migrate", verbosity=0)
    from django.contrib.auth.models import User
    from django.contrib.staticfiles.handlers import StaticFilesHandler
    from django.core.wsgi import get_wsgi_application

    for number in range(users):
        User.objects.create_superuser(f"user{number}", password=password)
    server = ThreadedWSGIServer(("127.0.0.1", 0), QuietHandler, ipv6=False)
    server.set_app(StaticFilesHandler(get_wsgi_application()))
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
