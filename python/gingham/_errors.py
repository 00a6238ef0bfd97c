"""The exceptions of DB-API 2.0, chosen by the SQLSTATE of the error."""


class Warning(Exception):  # noqa: A001 - DB-API names it so
    """Something important that is no error. Gingham raises none."""


class Error(Exception):
    """Any error of Gingham.

    Attributes:
        sqlstate: PostgreSQL's code of five characters for the kind of error, or None for a misuse of this package.
        line, column: where in the statement's text the mistake is, from 1, or None where it is not known.
    """

    sqlstate: "str | None" = None
    line: "int | None" = None
    column: "int | None" = None


class InterfaceError(Error):
    """This package is used in a way that can't be: a closed connection, rows that were taken already."""


class DatabaseError(Error):
    """Any error of the database."""


class DataError(DatabaseError):
    """A value is wrong: out of range, no date, a division by zero (class 22)."""


class OperationalError(DatabaseError):
    """Not the statement's fault: cancelled, out of memory, a full disk, a lock, a transaction to do again (40, 53 to 58)."""


class IntegrityError(DatabaseError):
    """A constraint does not hold (class 23)."""


class InternalError(DatabaseError):
    """The transaction is in a state that does not allow the statement, or Gingham is at fault (25, XX)."""


class ProgrammingError(DatabaseError):
    """The statement is wrong: its syntax, or a name that is not there (class 42)."""


class NotSupportedError(DatabaseError):
    """Understood, but not offered (0A)."""
