//! How a result is told: text and HTML, from a record alone.
