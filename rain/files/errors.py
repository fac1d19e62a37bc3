"""The exceptions for files.

FilesError                      something about a file or its store MissingFileError            no
such file, or no such bucket AccessError                 no credentials, or they do not suffice
ChangedFileError            the file has changed since it was found FileExistsAlready           the
file exists, and must not be replaced MissingPackageError         its protocol needs a package that
is not installed UnreachableStoreError       its store does not answer
"""

from rain.common.errors import RainException


class FilesError(RainException):
    """An error of a file or its store."""


class MissingFileError(FilesError, FileNotFoundError):
    """There is no such file, or no such bucket."""


class AccessError(FilesError, PermissionError):
    """Credentials are missing or not sufficient."""


class ChangedFileError(FilesError):
    """The file has changed since it was listed."""


class FileExistsAlready(FilesError, FileExistsError):
    """The file exists, and was not to be overwritten."""


class MissingPackageError(FilesError, ImportError):
    """The protocol needs a package that is not installed."""


class UnreachableStoreError(FilesError, OSError):
    """The store does not answer."""
