//! How an engine places rows and index entries on pages, as data.

use crate::workload::tpcc::schema;

/// Tables and indexes of TPC-C on pages.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The engine.
    pub name: &'static str,
    /// Bytes of page overhead, without rows or entries: of a table, of an index.
    pub overhead: (u32, u32),
    /// In the order of [`schema::TABLES`].
    pub tables: [Table; schema::TABLES.len()],
    /// In the order of [`index`].
    pub indexes: [Index; index::COUNT],
    /// Percent of an inner page of an index that its load fills.
    pub inner_fill: u32,
}

/// Rows of a table.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Mean bytes of a loaded row, with its pointer on the page.
    pub loaded: f64,
    /// Bytes of a row that a transaction inserts.
    pub inserted: f64,
    /// Fill factor for inserted rows in percent; the rest of the page is for new versions.
    pub fill: u32,
}

/// Entries of an index.
#[derive(Clone, Copy, Debug)]
pub struct Index {
    /// Its name.
    pub name: &'static str,
    /// Mean bytes of an entry, with its pointer on the page.
    pub entry: f64,
    /// Percent of a leaf that its load fills.
    pub fill: u32,
}

/// Positions of the indexes in [`Layout::indexes`].
pub(crate) mod index {
    /// Their number.
    pub const COUNT: usize = 10;
    /// `warehouse_pkey`
    pub const WAREHOUSE: usize = 0;
    /// `district_pkey`
    pub const DISTRICT: usize = 1;
    /// `customer_pkey`
    pub const CUSTOMER: usize = 2;
    /// `customer_name`
    pub const CUSTOMER_NAME: usize = 3;
    /// `new_order_pkey`
    pub const NEW_ORDER: usize = 4;
    /// `orders_pkey`
    pub const ORDERS: usize = 5;
    /// `orders_customer`
    pub const ORDERS_CUSTOMER: usize = 6;
    /// `order_line_pkey`
    pub const ORDER_LINE: usize = 7;
    /// `item_pkey`
    pub const ITEM: usize = 8;
    /// `stock_pkey`
    pub const STOCK: usize = 9;
}

impl Layout {
    /// PostgreSQL: heaps and B-trees of the schema in `engine/dialect/postgres/tpcc`, as `schema.sql` and `keys.sql`
    /// declare them.
    ///
    /// A row has a header of 24 bytes and a pointer of 4, an entry has 8 and 4; both are padded to 8 bytes. The means
    /// come from the lengths of the columns, and agree within 3 % with the pages that a load of five warehouses takes
    /// on PostgreSQL 15.
    pub fn postgres() -> Layout {
        let table = |loaded, inserted, fill| Table { loaded, inserted, fill };
        let index = |name, entry| Index { name, entry, fill: 90 };
        Layout {
            name: "PostgreSQL",
            overhead: (24, 40),
            tables: [
                table(132.0, 132.0, 10),
                table(132.0, 132.0, 10),
                table(620.0, 620.0, 85),
                table(88.0, 92.0, 100),
                table(44.0, 44.0, 100),
                table(66.0, 60.0, 90),
                table(94.0, 92.0, 85),
                table(106.0, 106.0, 100),
                table(348.0, 348.0, 85),
            ],
            indexes: [
                index("warehouse_pkey", 20.0),
                index("district_pkey", 20.0),
                index("customer_pkey", 28.0),
                index("customer_name", 54.5),
                index("new_order_pkey", 28.0),
                index("orders_pkey", 28.0),
                index("orders_customer", 28.0),
                index("order_line_pkey", 28.0),
                index("item_pkey", 20.0),
                index("stock_pkey", 20.0),
            ],
            inner_fill: 70,
        }
    }

    /// Names of tables and indexes, in the order in which references are counted: tables first.
    pub fn relations(&self) -> impl Iterator<Item = &'static str> {
        schema::TABLES.iter().map(|table| table.name).chain(self.indexes.iter().map(|index| index.name))
    }

    /// Rows on a loaded page of a table; at least one.
    pub fn loaded_rows(&self, table: usize, page: u32) -> f64 {
        self.room(table, page) / self.tables[table].loaded.min(self.room(table, page))
    }

    /// Bytes of a table's page that are available for inserted rows.
    pub fn room(&self, table: usize, page: u32) -> f64 {
        let free = page * (100 - self.tables[table].fill) / 100;
        f64::from((page - self.overhead.0).saturating_sub(free)).max(self.tables[table].inserted)
    }

    /// Entries on a loaded leaf of an index, and on one that is full.
    pub fn entries(&self, index: usize, page: u32) -> (u64, u64) {
        let room = f64::from(page - self.overhead.1);
        let of = |fill: u32| ((room * f64::from(fill) / 100.0 / self.indexes[index].entry) as u64).max(2);
        (of(self.indexes[index].fill), of(100))
    }

    /// Pages below an inner page of an index.
    pub fn fanout(&self, index: usize, page: u32) -> u64 {
        let room = f64::from(page - self.overhead.1);
        ((room * f64::from(self.inner_fill) / 100.0 / self.indexes[index].entry) as u64).max(2)
    }
}
