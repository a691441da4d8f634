//! `graymark predict simulate`

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::Ended;
use crate::cli::interrupt::Interrupt;
use crate::cli::progress::on_terminal;
use crate::engine::Error;
use crate::report::format::{bytes, count};
use crate::simulate::pages::Policy;
use crate::simulate::{AtSize, Options, Pages, Simulation};
use crate::size;

/// Minimum number of sizes in a range.
const SIZES: usize = 13;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  graymark predict simulate -w 10000 --buffer 8GB..512GB\n  graymark predict simulate -w \
        100 --buffer 256MB,1GB,4GB --policy clock-sweep --relations"
)]
pub(super) struct SimulateArgs {
    /// Warehouses
    #[arg(short = 'w', long, value_name = "N", default_value = "10", value_parser = crate::plan::parse_scale)]
    warehouses: u32,
    /// Sizes of the buffer: a range such as 8GB..512GB, or sizes with commas; GB counts as GiB, as PostgreSQL's
    /// settings do
    #[arg(long, value_name = "SIZES", value_parser = parse_sizes)]
    buffer: Sizes,
    /// Layout of tables and indexes
    #[arg(long, value_name = "LAYOUT", default_value = "postgres")]
    layout: LayoutName,
    /// Page-replacement policy
    #[arg(long, value_name = "POLICY", default_value = "lru")]
    policy: PolicyName,
    /// Transactions a second: with --policy midpoint, an old page becomes young when it is used again a second after
    /// its first use [default: at once]
    #[arg(long, value_name = "N")]
    per_second: Option<u32>,
    /// Size of a page [default: 8KiB, with --layout innodb 16KiB]
    #[arg(long, value_name = "SIZE", value_parser = size::parse_page)]
    page: Option<u32>,
    /// Seed of population and inputs
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// Number of sessions, each of which inserts into its own page
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    clients: u32,
    /// Number of simulated warehouses, as a sample of all [default: 40 to 200, as the smallest buffer needs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=2_000))]
    sample: Option<u32>,
    /// Transactions before counting starts [default: until the largest buffer is full, at most 4,000 a simulated
    /// warehouse]
    #[arg(long, value_name = "N")]
    warm_up: Option<u64>,
    /// Counted transactions [default: 2,000 a simulated warehouse, at least 100,000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    transactions: Option<u64>,
    /// Count the first use of a page as a miss at any size, as for a server that started with an empty buffer
    #[arg(long)]
    from_empty: bool,
    /// Show each table and index
    #[arg(long)]
    relations: bool,
    /// Print one JSON object on standard output
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LayoutName {
    /// PostgreSQL: heaps and B-trees
    Postgres,
    /// MariaDB and MySQL: tables in the order of their primary keys
    Innodb,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PolicyName {
    /// Least recently used: all sizes in one pass, by reuse distances
    Lru,
    /// Clock algorithm with one bit per page
    Clock,
    /// PostgreSQL's clock sweep, with usage counts up to 5
    ClockSweep,
    /// InnoDB's list, whose older 37 % get the pages that are read
    Midpoint,
}

/// Sizes in ascending order.
#[derive(Clone, Debug)]
struct Sizes(Vec<u64>);

fn parse_sizes(text: &str) -> Result<Sizes, String> {
    size::parse_several(text, SIZES).map(Sizes)
}

/// Runs the command.
pub(super) fn simulate(args: SimulateArgs) -> Result<Ended, Error> {
    let pages = match args.layout {
        LayoutName::Postgres => Pages::Postgres,
        LayoutName::Innodb => Pages::Innodb,
    };
    if args.per_second.is_some() && !matches!(args.policy, PolicyName::Midpoint) {
        return Err(Error::Usage(
            "--per-second needs --policy midpoint; the other policies do not depend on time".to_owned(),
        ));
    }
    let options = Options {
        pages,
        per_second: args.per_second.unwrap_or_default(),
        warehouses: args.warehouses,
        sizes: args.buffer.0,
        page: args.page.unwrap_or(pages.usual_page()),
        policy: match args.policy {
            PolicyName::Lru => Policy::Lru,
            PolicyName::Clock => Policy::Clock,
            PolicyName::ClockSweep => Policy::ClockSweep,
            PolicyName::Midpoint => Policy::Midpoint,
        },
        seed: args.seed,
        sessions: args.clients,
        sample: args.sample,
        warm_up: args.warm_up,
        transactions: args.transactions,
        from_empty: args.from_empty,
    };
    let interrupt = Interrupt::listen()?;
    interrupt.running(true);
    let bar = if on_terminal() { ProgressBar::new(1_000) } else { ProgressBar::hidden() };
    if let Ok(style) = ProgressStyle::with_template("simulating [{bar:30}] {percent} %, {eta} left") {
        bar.set_style(style.progress_chars("=> "));
    }
    let simulation = crate::simulate::simulate(&options, &mut |done| {
        bar.set_position((1_000.0 * done) as u64);
        !interrupt.stop.requested()
    })
    .map_err(Error::Usage)?;
    bar.finish_and_clear();
    if simulation.interrupted && simulation.transactions == 0 {
        return Ok(Ended::Interrupted);
    }
    if args.json {
        answer!("{}", serde_json::json!(simulation));
    } else {
        show(&simulation, args.relations);
    }
    Ok(if simulation.interrupted { Ended::Interrupted } else { Ended::Held })
}

fn percent(rate: Option<f64>) -> String {
    rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.2}"))
}

fn show(simulation: &Simulation, relations: bool) {
    let policy = match simulation.policy {
        Policy::Lru => "least recently used",
        Policy::Clock => "clock",
        Policy::ClockSweep => "clock sweep with usage counts",
        Policy::Midpoint => "least recently used, with a midpoint",
    };
    answer!(
        "Hit rates in percent: TPC-C, {} warehouses ({} after the load), {} pages of {}, {policy}.",
        count(simulation.warehouses),
        bytes(simulation.database_bytes),
        simulation.layout,
        bytes(simulation.page_bytes.into()),
    );
    answer!(
        "{} of them simulated: {} transactions to warm up, {} counted.",
        count(simulation.simulated_warehouses),
        count(simulation.warm_up_transactions),
        count(simulation.transactions)
    );
    if simulation.interrupted {
        answer!("Interrupted: these are the figures so far.");
    }
    answer!("");
    answer!(
        "{:>12} {:>12} {:>8} {:>8} {:>8} {:>18}",
        "buffer",
        "of database",
        "overall",
        "data",
        "index",
        "misses/transaction"
    );
    for at in &simulation.sizes {
        answer!(
            "{:>12} {:>10.2} % {:>8} {:>8} {:>8} {:>18.3}{}",
            bytes(at.buffer_bytes),
            100.0 * at.buffer_bytes as f64 / simulation.database_bytes as f64,
            percent(at.overall),
            percent(at.data),
            percent(at.index),
            at.misses_per_transaction,
            if at.buffer_bytes > simulation.touched_bytes { "  more than was used" } else { "" }
        );
    }
    if relations {
        show_relations(simulation);
    }
    answer!("");
    answer!(
        "{}",
        match simulation.layout {
            "PostgreSQL" => "New pages count as misses at any size, as in PostgreSQL's statistics.",
            _ => "New pages count as hits at any size, as in InnoDB's statistics.",
        }
    );
    let unknown = simulation.sizes.iter().map(|size| size.unknown).fold(0.0, f64::max);
    if unknown > 0.0 {
        answer!(
            "First uses of a page while the buffer was not full are not counted: up to {unknown:.2} % of the requests."
        );
    }
}

fn show_relations(simulation: &Simulation) {
    answer!("");
    let shown: Vec<&AtSize> = simulation.sizes.iter().step_by(simulation.sizes.len().div_ceil(7)).collect();
    let heads: String = shown.iter().map(|size| format!("{:>11}", bytes(size.buffer_bytes))).collect();
    answer!("{:16}{:>10} {:>8}{heads}", "", "pages/trx", "new/trx");
    for (name, relation) in &simulation.relations {
        let rates: String =
            shown.iter().map(|size| format!("{:>11}", percent(size.relations.get(name).copied().flatten()))).collect();
        answer!(
            "{name:16}{:>10.3} {:>8.4}{rates}",
            relation.references_per_transaction,
            relation.created_per_transaction
        );
    }
}
