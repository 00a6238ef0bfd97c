"""SQLAlchemy 2 over psycopg: an ORM, reflection, pandas."""

import datetime
import decimal
import os

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

URL = sa.make_url("postgresql+psycopg://").set(
    host=os.environ["PGHOST"], port=int(os.environ["PGPORT"]), username=os.environ["PGUSER"],
    password=os.environ.get("PGPASSWORD"), database="gingham",
)
engine = sa.create_engine(URL)


def check(name):
    def run(work):
        try:
            work()
            print("ok", name)
        except Exception as error:
            print(f"no {name}: {type(error).__name__}: {error}".replace("\n", "|")[:600])

    return run


class Base(DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = "sa_author"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(40), unique=True)
    books: Mapped[list["Book"]] = relationship(back_populates="author", cascade="all, delete-orphan")


class Book(Base):
    __tablename__ = "sa_book"
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str]
    price: Mapped[decimal.Decimal] = mapped_column(sa.Numeric(10, 2))
    published: Mapped[datetime.date | None]
    author_id: Mapped[int] = mapped_column(sa.ForeignKey("sa_author.id"))
    author: Mapped[Author] = relationship(back_populates="books")


@check("create_all")
def create():
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)


@check("ORM")
def orm():
    with Session(engine) as session:
        ada = Author(name="Ada", books=[
            Book(title="Notes", price=decimal.Decimal("12.50"), published=datetime.date(1843, 9, 1)),
            Book(title="Letters", price=decimal.Decimal("7.25"), published=None),
        ])
        session.add(ada)
        session.commit()
        total = session.scalar(sa.select(sa.func.sum(Book.price)).join(Author).where(Author.name == "Ada"))
        assert total == decimal.Decimal("19.75"), total
        ada.books[0].price += 1
        session.commit()
        session.delete(ada.books[1])
        session.commit()
        assert session.scalar(sa.select(sa.func.count()).select_from(Book)) == 1


@check("unique violation")
def unique():
    with Session(engine) as session:
        session.add(Author(name="Ada"))
        try:
            session.commit()
            raise AssertionError("there is one")
        except sa.exc.IntegrityError:
            session.rollback()


@check("reflection")
def reflection():
    inspector = sa.inspect(engine)
    assert {"sa_author", "sa_book"} <= set(inspector.get_table_names())
    columns = {column["name"]: column for column in inspector.get_columns("sa_book")}
    assert str(columns["price"]["type"]) == "NUMERIC(10, 2)" and columns["published"]["nullable"]
    assert inspector.get_pk_constraint("sa_book")["constrained_columns"] == ["id"]
    keys = inspector.get_foreign_keys("sa_book")
    assert keys[0]["referred_table"] == "sa_author" and keys[0]["referred_columns"] == ["id"], keys
    assert inspector.get_unique_constraints("sa_author")[0]["column_names"] == ["name"]
    metadata = sa.MetaData()
    metadata.reflect(engine, only=["sa_book"])
    assert "sa_author" in metadata.tables


@check("streamed rows")
def streamed():
    with engine.connect().execution_options(stream_results=True, max_row_buffer=100) as connection:
        rows = connection.execute(sa.text("SELECT n FROM generate_series(1, 5000) AS g(n)"))
        assert sum(row.n for row in rows) == 12502500


@check("isolation levels")
def isolation():
    for level in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE", "AUTOCOMMIT"]:
        with engine.connect().execution_options(isolation_level=level) as connection:
            assert connection.execute(sa.text("SELECT 1")).scalar() == 1


@check("pandas")
def pandas():
    import pandas

    frame = pandas.DataFrame({"a": [1, 2, 3], "b": ["x", None, "z"], "c": [1.5, 2.5, None]})
    frame.to_sql("sa_frame", engine, if_exists="replace", index=False)
    back = pandas.read_sql("SELECT * FROM sa_frame ORDER BY a", engine)
    assert back["a"].tolist() == [1, 2, 3] and back["b"].tolist()[0] == "x", back


@check("drop_all")
def drop():
    Base.metadata.drop_all(engine)
