//! What kind of mistake a statement or a value has, by the condition names and SQLSTATE codes of PostgreSQL
//! (its manual, appendix "PostgreSQL Error Codes").

/// Makes [`SqlState`], so that a condition's name, code and meaning stand in one line.
macro_rules! states {
    ($($(#[$docs:meta])* $name:ident = $code:literal,)*) => {
        /// Kind of a mistake.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum SqlState {
            $($(#[$docs])* $name,)*
        }

        impl SqlState {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The five characters that drivers tell errors apart by.
            pub const fn sqlstate(self) -> &'static str {
                match self {
                    $(Self::$name => $code,)*
                }
            }

            /// Whether it is a constraint that does not hold: a code of class 23.
            pub const fn is_constraint(self) -> bool {
                matches!(self.sqlstate().as_bytes(), [b'2', b'3', ..])
            }
        }
    };
}

states! {
    /// All is well; a notice without a class of its own.
    SuccessfulCompletion = "00000",
    /// A warning without a class of its own.
    Warning = "01000",
    /// The text is no statement.
    SyntaxError = "42601",
    /// A mistake in the statement that has no class of its own.
    InvalidStatement = "42000",
    /// It is not for the user's role, or Gingham's own, or otherwise not to be changed.
    InsufficientPrivilege = "42501",
    /// No cast leads from one type to the other.
    CannotCoerce = "42846",
    /// A column neither in GROUP BY nor in an aggregate, or an aggregate where none can be.
    GroupingError = "42803",
    /// A window function where none can be.
    WindowingError = "42P20",
    /// A view that leads to itself.
    InvalidRecursion = "42P19",
    /// What REFERENCES names is no key.
    InvalidForeignKey = "42830",
    /// A name that can't be one.
    InvalidName = "42602",
    /// A name that a system table has.
    ReservedName = "42939",
    /// A value of another type than its place takes.
    DatatypeMismatch = "42804",
    /// A value for a column whose values are generated.
    GeneratedAlways = "428C9",
    /// A view where a table is wanted, and the like.
    WrongObjectType = "42809",
    /// A column that is not there.
    UndefinedColumn = "42703",
    /// A function that is not there, or takes other arguments.
    UndefinedFunction = "42883",
    /// A table or view that is not there.
    UndefinedTable = "42P01",
    /// A parameter without a value.
    UndefinedParameter = "42P02",
    /// A setting, a type, an index or another object that is not there.
    UndefinedObject = "42704",
    /// A column that is there already, or named twice.
    DuplicateColumn = "42701",
    /// A prepared statement of the name is there already.
    DuplicatePreparedStatement = "42P05",
    /// A schema of the name is there already.
    DuplicateSchema = "42P06",
    /// A table, view or index of the name is there already.
    DuplicateTable = "42P07",
    /// Two tables of a FROM have one name.
    DuplicateAlias = "42712",
    /// Another object of the name is there already.
    DuplicateObject = "42710",
    /// A name that several columns have.
    AmbiguousColumn = "42702",
    /// Columns that are not those wanted here.
    InvalidColumnReference = "42P10",
    /// A table or view that can't be as it is defined.
    InvalidTableDefinition = "42P16",
    /// An expression that can't stand in a definition.
    InvalidObjectDefinition = "42P17",
    /// A catalog that is not there.
    InvalidCatalogName = "3D000",
    /// A schema that is not there.
    UndefinedSchema = "3F000",
    /// A prepared statement that is not there.
    UndefinedPreparedStatement = "26000",
    /// A savepoint that is not there.
    InvalidSavepoint = "3B001",
    /// A transaction is open already, or a statement runs outside of one alone.
    ActiveSqlTransaction = "25001",
    /// The transaction, or the user, is to read only.
    ReadOnlySqlTransaction = "25006",
    /// A cursor that is not there.
    InvalidCursorName = "34000",
    /// A cursor of the name is there already.
    DuplicateCursor = "42P03",
    /// No transaction is open.
    NoActiveSqlTransaction = "25P01",
    /// More rows than one, where one can be.
    CardinalityViolation = "21000",
    /// A wrong value that has no class of its own.
    DataException = "22000",
    /// A text longer than its column.
    StringDataRightTruncation = "22001",
    /// A number, a date or a result outside the range of its type.
    NumericValueOutOfRange = "22003",
    /// NULL where a value is needed.
    NullValueNotAllowed = "22004",
    /// A text that is no date, time or interval.
    InvalidDatetimeFormat = "22007",
    /// A date or time that is not in the calendar, or out of range.
    DatetimeFieldOverflow = "22008",
    /// A part with a negative length.
    SubstringError = "22011",
    /// A division by zero.
    DivisionByZero = "22012",
    /// A window's frame that begins or ends at a negative distance.
    InvalidPrecedingOrFollowingSize = "22013",
    /// A number of tiles that ntile can't make.
    InvalidArgumentForNtile = "22014",
    /// A row that nth_value can't count to.
    InvalidArgumentForNthValue = "22016",
    /// A text or a duration that is more than an interval has room for.
    IntervalFieldOverflow = "22015",
    /// Bytes that are not text in the encoding.
    CharacterNotInRepertoire = "22021",
    /// A value that a setting, an option or a function does not take.
    InvalidParameterValue = "22023",
    /// A pattern that ends in its escape character, or an ESCAPE that is not one character.
    InvalidEscapeSequence = "22025",
    /// More marks of parts in a pattern than it can have.
    InvalidUseOfEscapeCharacter = "2200C",
    /// A share of TABLESAMPLE that is none.
    InvalidTablesampleArgument = "2202H",
    /// REPEATABLE of NULL.
    InvalidTablesampleRepeat = "2202G",
    /// A text that is no regular expression.
    InvalidRegularExpression = "2201B",
    /// A root of a negative number.
    InvalidArgumentForPower = "2201F",
    /// LIMIT of fewer rows than none.
    InvalidRowCountInLimit = "2201W",
    /// OFFSET by fewer rows than none.
    InvalidRowCountInOffset = "2201X",
    /// A sequence that has no further value.
    SequenceGeneratorLimitExceeded = "2200H",
    /// A place that a value does not have.
    ArraySubscriptError = "2202E",
    /// A text that is no value of the type.
    InvalidTextRepresentation = "22P02",
    /// Bytes that are no value of the type.
    InvalidBinaryRepresentation = "22P03",
    /// A message with fewer bytes than it says.
    ProtocolViolation = "08P01",
    /// A file that is not what it should be.
    BadCopyFileFormat = "22P04",
    /// A character that the encoding has not.
    UntranslatableCharacter = "22P05",
    /// NULL in a column that is NOT NULL.
    NotNullViolation = "23502",
    /// A key that is not there, or is still referred to.
    ForeignKeyViolation = "23503",
    /// A key that is there already.
    UniqueViolation = "23505",
    /// A row that a CHECK refuses.
    CheckViolation = "23514",
    /// Others need it.
    DependentObjectsStillExist = "2BP01",
    /// A setting that can't be changed.
    CantChangeRuntimeParam = "55P02",
    /// More than fits.
    ProgramLimitExceeded = "54000",
    /// A statement nested too deeply.
    StatementTooComplex = "54001",
    /// Somebody gave it up.
    QueryCanceled = "57014",
    /// It changed meanwhile, was used up or failed before.
    ObjectNotInPrerequisiteState = "55000",
    /// A file that is not there.
    UndefinedFile = "58P01",
    /// A file or a folder that is no database is where one should be.
    InvalidDatabase = "58P02",
}

/// A place in the text of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Character in the line, from 1.
    pub column: u32,
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A mistake of whoever wrote a statement or gave a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The kind of mistake.
    pub state: SqlState,
    /// What is wrong and what to do, without the place.
    pub text: String,
    /// Where in the statement's text it is, where that is known.
    pub position: Option<Position>,
}

impl Problem {
    /// A problem whose place is not known.
    pub fn new(state: SqlState, text: impl Into<String>) -> Self {
        Self { state, text: text.into(), position: None }
    }

    /// This problem at a place.
    pub fn at(self, position: Option<Position>) -> Self {
        Self { position: position.or(self.position), ..self }
    }

    /// This problem with words before its text that say what it is about.
    pub fn about(self, words: impl std::fmt::Display) -> Self {
        Self { text: format!("{words}: {}", self.text), ..self }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)?;
        self.position.map_or(Ok(()), |position| write!(f, " ({position})"))
    }
}
