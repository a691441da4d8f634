//! `graymark predict simulate`

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::Ended;
use crate::cli::interrupt::Interrupt;
use crate::cli::progress::on_terminal;
use crate::engine::Error;
use crate::report::format::{bytes, count};
use crate::simulate::pages::Policy;
use crate::simulate::{AtSize, Options, Simulation};
use crate::size;

/// A range has at least so many sizes.
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
    /// Which page goes when another one needs its place
    #[arg(long, value_name = "POLICY", default_value = "lru")]
    policy: PolicyName,
    /// Size of a page
    #[arg(long, value_name = "SIZE", default_value = "8KiB", value_parser = size::parse_page)]
    page: u32,
    /// The seed of population and inputs
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// Sessions, each of which inserts on a page of its own
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    clients: u32,
    /// Warehouses that are simulated and stand for all [default: 40 to 200, as the smallest buffer needs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=2_000))]
    sample: Option<u32>,
    /// Transactions before those that count [default: until the largest buffer is full, at most 4,000 a simulated
    /// warehouse]
    #[arg(long, value_name = "N")]
    warm_up: Option<u64>,
    /// Transactions that count [default: 2,000 a simulated warehouse, at least 100,000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    transactions: Option<u64>,
    /// Count the first use of a page as a miss at any size: a server that began with an empty buffer
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
enum PolicyName {
    /// Least recently used: all sizes in one pass, by reuse distances
    Lru,
    /// A clock with one bit a page
    Clock,
    /// PostgreSQL's clock, with usage counts up to 5
    ClockSweep,
}

/// Ascending.
#[derive(Clone, Debug)]
struct Sizes(Vec<u64>);

fn parse_sizes(text: &str) -> Result<Sizes, String> {
    size::parse_several(text, SIZES).map(Sizes)
}

/// The command.
pub(super) fn simulate(args: SimulateArgs) -> Result<Ended, Error> {
    let options = Options {
        warehouses: args.warehouses,
        sizes: args.buffer.0,
        page: args.page,
        policy: match args.policy {
            PolicyName::Lru => Policy::Lru,
            PolicyName::Clock => Policy::Clock,
            PolicyName::ClockSweep => Policy::ClockSweep,
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
    };
    answer!(
        "Hit rates in percent: TPC-C, {} warehouses ({} after the load), {} pages of {}, {policy}.",
        count(simulation.warehouses),
        bytes(simulation.database_bytes),
        simulation.layout,
        bytes(simulation.page_bytes.into()),
    );
    answer!(
        "{} of them simulated: {} transactions to warm up, {} that count.",
        count(simulation.simulated_warehouses),
        count(simulation.warm_up_transactions),
        count(simulation.transactions)
    );
    if simulation.interrupted {
        answer!("Interrupted: these are the figures until then.");
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
            if at.buffer_bytes > simulation.touched_bytes { "  more than was touched" } else { "" }
        );
    }
    if relations {
        show_relations(simulation);
    }
    answer!("");
    answer!("Pages made by the transactions are missed at any size, as PostgreSQL counts them.");
    let unknown = simulation.sizes.iter().map(|size| size.unknown).fold(0.0, f64::max);
    if unknown > 0.0 {
        answer!(
            "First uses of a page while a buffer had room are left out: up to {unknown:.2} % of what was asked for."
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
