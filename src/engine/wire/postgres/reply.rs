//! Rows of replies for the shared transactions.

use arrayvec::ArrayVec;
use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::DataRowBody;
use tokio_postgres::types::{FromSql, Kind, Type};

use crate::engine::Failure;
use crate::engine::sql;
use crate::workload::value::{Money, Rate, Timestamp};

/// The maximum number of columns of a row.
const MOST_COLUMNS: usize = 32;

/// A row for the shared transactions.
pub struct PostgresRow<'a> {
    types: &'a [Type],
    cells: ArrayVec<Option<&'a [u8]>, MOST_COLUMNS>,
}

impl<'a> PostgresRow<'a> {
    /// A row whose columns have these types.
    ///
    /// # Errors
    /// If it has another number of columns, too many, or is damaged.
    pub fn of(types: &'a [Type], body: &'a DataRowBody) -> Result<PostgresRow<'a>, Failure> {
        let wrong = |why: String| Failure::Invalid(format!("a row of a reply: {why}"));
        let mut cells = ArrayVec::new();
        let mut ranges = body.ranges();
        while let Some(range) = ranges.next().map_err(|error| wrong(error.to_string()))? {
            let cell = range.map(|range| body.buffer().get(range).unwrap_or_default());
            cells.try_push(cell).map_err(|_| wrong(format!("it has more than {MOST_COLUMNS} columns")))?;
        }
        if cells.len() != types.len() {
            return Err(wrong(format!("it has {} columns, not {}", cells.len(), types.len())));
        }
        Ok(PostgresRow { types, cells })
    }

    fn cell<T: FromSql<'a>>(&self, at: usize) -> Result<T, Failure> {
        match (self.types.get(at), self.cells.get(at)) {
            (Some(of), Some(cell)) => read(at, of, *cell),
            _ => Err(Failure::Invalid(format!("column {at} of a reply: there is none"))),
        }
    }
}

/// The value of a column; a wrong type is a failure.
fn read<'a, T: FromSql<'a>>(at: usize, of: &Type, cell: Option<&'a [u8]>) -> Result<T, Failure> {
    let wrong = |why: &str| Failure::Invalid(format!("column {at} of a reply: {why}"));
    if !T::accepts(of) {
        return Err(wrong(&format!("a value of type {of} was not expected")));
    }
    T::from_sql_nullable(of, cell).map_err(|error| wrong(&error.to_string()))
}

/// The columns of a row of any kind.
macro_rules! columns {
    ($cell:ident) => {
        fn int(&self, at: usize) -> Result<i32, Failure> {
            self.$cell::<Whole>(at).map(|whole| whole.0)
        }

        fn optional_int(&self, at: usize) -> Result<Option<i32>, Failure> {
            self.$cell::<Option<Whole>>(at).map(|whole| whole.map(|whole| whole.0))
        }

        fn money(&self, at: usize) -> Result<Money, Failure> {
            self.$cell(at)
        }

        fn rate(&self, at: usize) -> Result<Rate, Failure> {
            self.$cell(at)
        }

        fn text(&self, at: usize) -> Result<&str, Failure> {
            self.$cell::<&str>(at).map(|text| text.trim_end_matches(' '))
        }

        fn time(&self, at: usize) -> Result<Timestamp, Failure> {
            self.$cell(at)
        }

        fn optional_time(&self, at: usize) -> Result<Option<Timestamp>, Failure> {
            self.$cell(at)
        }
    };
}

/// An integer. Compatible servers may return 64 bits for integer expressions.
struct Whole(i32);

impl<'a> FromSql<'a> for Whole {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        if let Ok(bytes) = <[u8; 4]>::try_from(raw) {
            return Ok(Whole(i32::from_be_bytes(bytes)));
        }
        let bytes = <[u8; 8]>::try_from(raw).map_err(|_| "it is not an integer")?;
        Ok(Whole(i64::from_be_bytes(bytes).try_into()?))
    }

    fn accepts(of: &Type) -> bool {
        matches!(*of, Type::INT4 | Type::INT8)
    }
}

impl sql::Row for PostgresRow<'_> {
    columns!(cell);
}

/// The maximum number of array columns in a row, and of elements in an array.
const MOST: usize = 16;

/// Elements of an array, as sent by the server.
struct Places<'a>(ArrayVec<Option<&'a [u8]>, MOST>);

impl<'a> FromSql<'a> for Places<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        let mut rest = raw;
        let mut number = || {
            let (first, after) = rest.split_first_chunk::<4>()?;
            rest = after;
            Some(i32::from_be_bytes(*first))
        };
        let (dimensions, _nulls, _of) = (number(), number(), number());
        let count = match dimensions {
            Some(0) => Some(0),
            // The index of the first element follows.
            Some(1) => number().filter(|_| number().is_some()),
            _ => None,
        };
        let count = count.ok_or("it is not an array of one dimension")?;
        let mut places = ArrayVec::new();
        for _ in 0..count {
            let (first, after) = rest.split_first_chunk::<4>().ok_or("an array ends too early")?;
            rest = after;
            let place = match usize::try_from(i32::from_be_bytes(*first)) {
                Err(_) => None,
                Ok(length) => {
                    let (place, after) = rest.split_at_checked(length).ok_or("an array ends too early")?;
                    rest = after;
                    Some(place)
                }
            };
            places.try_push(place).map_err(|_| format!("an array has more than {MOST} places"))?;
        }
        Ok(Places(places))
    }

    fn accepts(of: &Type) -> bool {
        matches!(of.kind(), Kind::Array(_))
    }
}

/// A column of arrays.
struct ArrayColumn<'a> {
    at: usize,
    of: &'a Type,
    places: Places<'a>,
}

/// The row with one element of all arrays.
struct Unfolded<'a, 'b> {
    columns: &'b [ArrayColumn<'a>],
    place: usize,
}

impl<'a> Unfolded<'a, '_> {
    fn cell<T: FromSql<'a>>(&self, at: usize) -> Result<T, Failure> {
        let wrong = |why: &str| Failure::Invalid(format!("column {at} of a reply: {why}"));
        let column = self.columns.iter().find(|column| column.at == at).ok_or_else(|| wrong("it has no array"))?;
        let place = column.places.0.get(self.place).ok_or_else(|| wrong("its array is shorter than others"))?;
        read(at, column.of, *place)
    }
}

impl sql::Row for Unfolded<'_, '_> {
    columns!(cell);
}

/// Passes the other columns of a row to `on_row`, if there are any; then a row for each element of the arrays. Columns
/// keep their numbers.
pub fn unfold(
    row: &PostgresRow<'_>,
    on_row: &mut dyn FnMut(&dyn sql::Row) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut columns: ArrayVec<ArrayColumn<'_>, MOST> = ArrayVec::new();
    for (at, described) in row.types.iter().enumerate() {
        if let Kind::Array(of) = described.kind()
            && let Some(places) = row.cell(at)?
        {
            let full = |_| Failure::Invalid(format!("a reply has more than {MOST} columns with arrays"));
            columns.try_push(ArrayColumn { at, of, places }).map_err(full)?;
        }
    }
    if row.types.iter().any(|of| !matches!(of.kind(), Kind::Array(_))) {
        on_row(row)?;
    }
    let most = columns.iter().map(|column| column.places.0.len()).max().unwrap_or(0);
    (0..most).try_for_each(|place| on_row(&Unfolded { columns: &columns, place }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(dimensions: i32, count: i32, places: &[Option<&[u8]>]) -> Vec<u8> {
        let mut raw: Vec<u8> = [dimensions, 0, 23, count, 1].iter().flat_map(|number| number.to_be_bytes()).collect();
        for place in places {
            raw.extend(place.map_or(-1, |place| place.len() as i32).to_be_bytes());
            raw.extend(place.unwrap_or_default());
        }
        raw
    }

    #[test]
    fn an_array_is_read_place_by_place() {
        let read = |raw: &[u8]| Places::from_sql(&Type::INT4_ARRAY, raw).map(|places| places.0.len());
        let seven = 7_i32.to_be_bytes();
        let raw = array(1, 2, &[Some(&seven), None]);
        let places = Places::from_sql(&Type::INT4_ARRAY, &raw).unwrap();
        assert_eq!(places.0[..], [Some(&seven[..]), None]);
        let columns = [ArrayColumn { at: 3, of: &Type::INT4, places }];
        let row = |place| Unfolded { columns: &columns, place };
        assert_eq!((row(0).cell::<i32>(3).unwrap(), row(1).cell::<Option<i32>>(3).unwrap()), (7, None));
        assert!(row(1).cell::<i32>(3).is_err() && row(2).cell::<i32>(3).is_err() && row(0).cell::<i32>(0).is_err());
        assert!(row(0).cell::<&str>(3).is_err());
        assert_eq!(read(&array(0, 0, &[])[..12]).unwrap(), 0);
        for wrong in [&array(2, 1, &[]), &array(1, 2, &[Some(&seven)]), &array(1, 17, &[None; 17]), &vec![0, 0]] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
        let mut cut = array(1, 1, &[Some(&seven)]);
        cut.pop();
        assert!(read(&cut).is_err());
    }
}
