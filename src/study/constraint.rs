//! The user's constraints on a run: `p90(new_order)<5s, efficiency>0.95`.

use std::fmt::{self, Display};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::efficiency::efficiency;
use crate::result::summary::{LatencySummary, Summary};
use crate::workload::Workload;
use crate::workload::tpcc::Tpcc;

/// Constraints that all must be met. As text they are separated by commas.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Constraints {
    all: Vec<Constraint>,
    text: String,
}

/// One of them.
#[derive(Clone, Debug)]
struct Constraint {
    figure: Figure,
    order: Order,
    /// In milliseconds, percent, or by number.
    limit: f64,
    text: String,
}

#[derive(Clone, Copy, Debug)]
enum Figure {
    /// A response time of a transaction type, in milliseconds.
    Response(fn(&LatencySummary) -> f64, &'static str),
    /// Percent of the New-Orders that keying and think times allow.
    Efficiency,
    /// New-Orders per minute.
    Throughput,
    /// Transactions per second.
    Transactions,
    /// Failed transactions in the measurement interval.
    Errors,
    /// Retries in the measurement interval.
    Retries,
    /// Percent of page reads that the database found in its buffers.
    Hits(Pages),
}

#[derive(Clone, Copy, Debug)]
enum Pages {
    Data,
    Index,
    Overall,
}

#[derive(Clone, Copy, Debug)]
enum Order {
    Below,
    AtMost,
    Above,
    AtLeast,
}

/// Units of time with their value in milliseconds.
const TIMES: [(&str, f64); 4] = [("ms", 1.0), ("us", 1e-3), ("s", 1e3), ("min", 6e4)];
/// The longest operators first.
const ORDERS: [(&str, Order); 4] =
    [("<=", Order::AtMost), (">=", Order::AtLeast), ("<", Order::Below), (">", Order::Above)];

/// Usage text.
const USAGE: &str = "give constraints such as p90(new_order)<5s, efficiency>0.95, tpm>1000, tps>50, errors<=0, \
    retries<100, hits(data)>90%; \
                     response times are mean, p50, p90, p95, p99, p999 or max of a transaction";

impl PartialEq for Constraints {
    fn eq(&self, other: &Constraints) -> bool {
        // Each is made from its text.
        self.text == other.text
    }
}

impl FromStr for Constraints {
    type Err = String;

    fn from_str(text: &str) -> Result<Constraints, String> {
        let all = text.split(',').map(|part| Constraint::parse(part.trim())).collect::<Result<Vec<_>, String>>()?;
        let text = all.iter().map(|constraint| constraint.text.as_str()).collect::<Vec<_>>().join(", ");
        Ok(Constraints { all, text })
    }
}

impl TryFrom<String> for Constraints {
    type Error = String;

    fn try_from(text: String) -> Result<Constraints, String> {
        text.parse()
    }
}

impl From<Constraints> for String {
    fn from(constraints: Constraints) -> String {
        constraints.text
    }
}

impl Display for Constraints {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.text)
    }
}

impl Constraints {
    /// The violated constraints with their measured values. Unknown figures violate a constraint.
    pub fn broken(&self, summary: &Summary) -> Vec<String> {
        self.all.iter().filter_map(|constraint| constraint.broken(summary)).collect()
    }
}

impl Constraint {
    fn parse(text: &str) -> Result<Constraint, String> {
        let wrong = |why: &str| format!("`{text}`: {why}; {USAGE}");
        let (at, sign, order) = ORDERS
            .into_iter()
            .filter_map(|(sign, order)| Some((text.find(sign)?, sign, order)))
            .min_by_key(|(at, sign, _)| (*at, std::cmp::Reverse(sign.len())))
            .ok_or_else(|| wrong("it has none of <, <=, >, >="))?;
        let (name, limit) =
            (text.get(..at).unwrap_or_default().trim(), text.get(at + sign.len()..).unwrap_or_default().trim());
        let figure = Figure::parse(name).map_err(|why| wrong(&why))?;
        let limit = figure.limit(limit).map_err(|why| wrong(&why))?;
        Ok(Constraint { figure, order, limit, text: text.split_whitespace().collect() })
    }

    fn broken(&self, summary: &Summary) -> Option<String> {
        let Some(value) = self.figure.of(summary) else { return Some(format!("{}: unknown", self.text)) };
        let kept = match self.order {
            Order::Below => value < self.limit,
            Order::AtMost => value <= self.limit,
            Order::Above => value > self.limit,
            Order::AtLeast => value >= self.limit,
        };
        (!kept).then(|| format!("{}: it is {}", self.text, self.figure.describe(value)))
    }
}

impl Figure {
    fn parse(name: &str) -> Result<Figure, String> {
        let (name, of) = match name.split_once('(') {
            Some((name, of)) => (name.trim(), Some(of.strip_suffix(')').ok_or("a bracket is not closed")?.trim())),
            None => (name, None),
        };
        let response: Option<fn(&LatencySummary) -> f64> = match name {
            "mean" => Some(|spread| spread.mean),
            "p50" => Some(|spread| spread.p50),
            "p90" => Some(|spread| spread.p90),
            "p95" => Some(|spread| spread.p95),
            "p99" => Some(|spread| spread.p99),
            "p999" => Some(|spread| spread.p999),
            "max" => Some(|spread| spread.max),
            _ => None,
        };
        match (response, name, of) {
            (Some(figure), _, Some(of)) => {
                let named = of.replace('-', "_").to_lowercase();
                let known = Tpcc::TRANSACTIONS.iter().find(|known| **known == named);
                known.map(|known| Figure::Response(figure, known)).ok_or_else(|| {
                    format!("`{of}` is not a transaction type; the types are {}", Tpcc::TRANSACTIONS.join(", "))
                })
            }
            (Some(_), _, None) => Err(format!("name the transaction type: {name}(new_order)")),
            (None, "efficiency", None) => Ok(Figure::Efficiency),
            (None, "tpm" | "nopm", None) => Ok(Figure::Throughput),
            (None, "tps", None) => Ok(Figure::Transactions),
            (None, "errors", None) => Ok(Figure::Errors),
            (None, "retries", None) => Ok(Figure::Retries),
            (None, "hits", None | Some("overall")) => Ok(Figure::Hits(Pages::Overall)),
            (None, "hits", Some("data")) => Ok(Figure::Hits(Pages::Data)),
            (None, "hits", Some("index")) => Ok(Figure::Hits(Pages::Index)),
            _ => Err(format!("unknown figure `{name}`")),
        }
    }

    /// The limit in the figure's unit.
    fn limit(self, text: &str) -> Result<f64, String> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let unit = unit.trim();
        let number = number.parse::<f64>().map_err(|_| format!("`{text}` is not a number"))?;
        match (self, unit) {
            (Figure::Response(..), unit) => {
                let known = TIMES.into_iter().find(|(name, _)| *name == unit);
                known
                    .map(|(_, factor)| number * factor)
                    .ok_or_else(|| format!("`{text}` is not a time such as 5s or 500ms"))
            }
            (Figure::Efficiency | Figure::Hits(_), "%") => Ok(number),
            (Figure::Efficiency | Figure::Hits(_), "") if number <= 1.0 => Ok(100.0 * number),
            (Figure::Efficiency | Figure::Hits(_), "") => {
                Err(format!("`{text}`: write a share, such as 0.95, or percent, such as 95%"))
            }
            (_, "") => Ok(number),
            _ => Err(format!("`{unit}` is not one of its units")),
        }
    }

    fn of(self, summary: &Summary) -> Option<f64> {
        let all = |figure: fn(&crate::result::summary::TransactionSummary) -> u64| {
            Some(summary.transactions.values().map(|of| figure(of) as f64).sum::<f64>())
        };
        match self {
            Figure::Response(figure, name) => {
                let transaction = summary.transactions.get(name).filter(|transaction| transaction.completed > 0)?;
                Some(figure(&transaction.response_ms))
            }
            Figure::Efficiency => Some(efficiency(summary)),
            Figure::Throughput => summary.new_orders_per_minute,
            Figure::Transactions => Some(summary.transactions_per_second),
            Figure::Errors => all(|transaction| transaction.errors),
            Figure::Retries => all(|transaction| transaction.retries),
            Figure::Hits(pages) => {
                let read = summary.counters.as_ref()?.pages.as_ref()?;
                let hits = match pages {
                    Pages::Data => read.data,
                    Pages::Index => read.index,
                    Pages::Overall => read.overall,
                };
                hits?.hit_percent
            }
        }
    }

    fn describe(self, value: f64) -> String {
        match self {
            Figure::Response(..) => format!("{value:.1} ms"),
            Figure::Efficiency | Figure::Hits(_) => format!("{value:.1} %"),
            Figure::Throughput | Figure::Transactions => format!("{value:.1}"),
            Figure::Errors | Figure::Retries => format!("{value:.0}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::summary;
    use super::*;
    use crate::measure::counters_summary::CountersSummary;
    use crate::measure::pages::{Hits, PagesSummary};

    fn broken(text: &str) -> Vec<String> {
        // 120 New-Orders a minute on 10 warehouses are 93.3 % of 128.6; means are 50 ms and 90th percentiles 100 ms.
        let mut summary = summary("standard", 10, 120.0, 50.0);
        let data = Some(Hits { logical: 100, physical: 7, hit_percent: Some(93.0) });
        let pages = Some(PagesSummary { data, ..PagesSummary::default() });
        summary.counters = Some(CountersSummary { pages, ..CountersSummary::default() });
        summary.transactions.get_mut("delivery").unwrap().completed = 0;
        summary.transactions.get_mut("payment").unwrap().retries = 3;
        text.parse::<Constraints>().unwrap().broken(&summary)
    }

    #[test]
    fn each_figure_is_held_against_its_limit() {
        for kept in [
            "p90(new_order)<100.1ms",
            "p90(New-Order)<=0.1s, mean(payment) < 1s",
            "efficiency>0.93",
            "efficiency>=93%, tpm>119, nopm<=120, tps>4",
            "errors<=0,retries<4",
            "hits(data)>92%",
            "max(stock_level)<1us",
        ] {
            assert_eq!(broken(kept), Vec::<String>::new(), "{kept}");
        }
        for (text, expected) in [
            ("p90(new_order)<100ms", "p90(new_order)<100ms: it is 100.0 ms"),
            ("efficiency > 0.95", "efficiency>0.95: it is 93.3 %"),
            ("tpm>120", "tpm>120: it is 120.0"),
            ("retries<3", "retries<3: it is 3"),
            ("hits(data)>=0.94", "hits(data)>=0.94: it is 93.0 %"),
            ("hits>50%", "hits>50%: unknown"),
            ("p99(delivery)<80s", "p99(delivery)<80s: unknown"),
        ] {
            assert_eq!(broken(text), [expected], "{text}");
        }
        assert_eq!(broken("tpm>1000, errors<=0, tps>1000").len(), 2);
    }

    #[test]
    fn errors_are_reported() {
        for (text, why) in [
            ("", "none of <"),
            ("p90(new_order)", "none of <"),
            ("p90<5s", "name the transaction type"),
            ("p90(new_order<5s", "bracket"),
            ("p90(refund)<5s", "not a transaction type"),
            ("p91(new_order)<5s", "unknown figure"),
            ("p90(new_order)<5", "is not a time"),
            ("p90(new_order)<5 parsecs", "is not a time"),
            ("efficiency>95", "write a share"),
            ("tpm>many", "is not a number"),
            ("tpm>10%", "not one of its units"),
            ("hits(heap)>0.9", "unknown figure"),
            ("tpm>1,,tps>1", "none of <"),
        ] {
            let error = text.parse::<Constraints>().unwrap_err();
            assert!(error.contains(why) && !error.contains('\n'), "{text}: {error}");
        }
    }

    #[test]
    fn constraints_are_read_back_from_a_file() {
        let all = "p90(new_order) < 5s ,efficiency>0.95".parse::<Constraints>().unwrap();
        assert_eq!(all.to_string(), "p90(new_order)<5s, efficiency>0.95");
        assert_eq!(String::from(all.clone()).parse(), Ok(all));
    }
}
