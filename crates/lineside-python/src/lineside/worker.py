"""The kit of workers, which turns functions into warm hooks of files: the file that `lineside kit python` prints."""

from .lineside_hook import Call, hook, serve

__all__ = ["Call", "hook", "serve"]
