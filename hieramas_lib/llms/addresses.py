"""Addresses of servers, as pool files and the SDKs' variables give them."""

from ipaddress import ip_address
from urllib.parse import urlsplit

from hieramas_lib.errors import ConfigError


def checked_address(url: str) -> str:
    """Return ``url`` in one spelling.

    Raises:
        ConfigError: it holds a user or a password, which HTTP libraries write to logs.
    """
    if "@" in urlsplit(url).netloc:
        raise ConfigError(
            "holds a user or a password, which would be seen in logs; take them out, put the key "
            "into an environment variable and name that by `key_env:` in the pool file"
        )
    return url.rstrip("/")


def is_own_host(host: str) -> bool:
    """Whether ``host`` is this machine, or in its own network."""
    try:
        return host == "localhost" or ip_address(host).is_private
    except ValueError:
        return False
