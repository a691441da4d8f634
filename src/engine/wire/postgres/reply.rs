//! Rows of replies for the shared transactions.

use arrayvec::ArrayVec;
use tokio_postgres::types::{FromSql, Kind, Type};

use super::failure::chain;
use crate::engine::Failure;
use crate::engine::sql;
use crate::workload::value::{Money, Rate, Timestamp};

/// A row for the shared transactions.
pub struct PostgresRow<'a>(pub &'a tokio_postgres::Row);

/// A column of a row; a wrong type or index is a failure.
pub fn column<'a, T: FromSql<'a>>(row: &'a tokio_postgres::Row, column: usize) -> Result<T, Failure> {
    row.try_get(column).map_err(|error| Failure::Invalid(format!("column {column} of a reply: {}", chain(&error))))
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

impl<'a> PostgresRow<'a> {
    fn cell<T: FromSql<'a>>(&self, at: usize) -> Result<T, Failure> {
        column(self.0, at)
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
        if !T::accepts(column.of) {
            return Err(wrong(&format!("an array of {} was not expected", column.of)));
        }
        T::from_sql_nullable(column.of, *place).map_err(|error| wrong(&error.to_string()))
    }
}

impl sql::Row for Unfolded<'_, '_> {
    columns!(cell);
}

/// Passes the other columns of a row to `on_row`, if there are any; then a row for each element of the arrays. Columns
/// keep their numbers.
pub fn unfold(
    row: &tokio_postgres::Row,
    on_row: &mut dyn FnMut(&dyn sql::Row) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut columns: ArrayVec<ArrayColumn<'_>, MOST> = ArrayVec::new();
    for (at, described) in row.columns().iter().enumerate() {
        if let Kind::Array(of) = described.type_().kind()
            && let Some(places) = column(row, at)?
        {
            let full = |_| Failure::Invalid(format!("a reply has more than {MOST} columns with arrays"));
            columns.try_push(ArrayColumn { at, of, places }).map_err(full)?;
        }
    }
    if row.columns().iter().any(|column| !matches!(column.type_().kind(), Kind::Array(_))) {
        on_row(&PostgresRow(row))?;
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
