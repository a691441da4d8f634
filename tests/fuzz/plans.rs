//! Files that a user writes: plans and price files.

use graymark::engine::registry::WorkloadName;
use graymark::judge::price::PriceList;
use graymark::plan::Plan;

use crate::edit::edited;
use crate::watch::{Target, put};

const PLANS: [&str; 3] = [
    "db = \"postgres:local?data=/var/bench\"\nworkload = \"tpcc\"\nscale = 10\npace = \
     \"keying*0.5,think*0.25\"\nclients = 8\nthreads = 2\n\
     ramp_up = \"10s\"\nduration = \"5m\"\nvia = \"procedures\"\nisolation = \"read-committed\"\nseed = \
     \"18446744073709551615\"\n\
     check = \"after\"\ncheckpoint = \"30m\"\nvacuum = \"1h\"\njobs = 2\nforeign_keys = true\ndate = \
     \"2026-01-31T12:00:00Z\"\n\n[set]\n\
     shared_buffers = \"1GB\"\nwork_mem = \"4MB\"\n",
    "workload = \"debitcredit\"\nprofile = \"tpc-b\"\nstages = [1, 2, 4, 8]\nstage_duration = \"30s\"\nwarm = \
     \"scan\"\n",
    "",
];

#[test]
fn plans() {
    let words = [
        "db",
        "workload",
        "profile",
        "scale",
        "pace",
        "clients",
        "threads",
        "ramp_up",
        "duration",
        "stages",
        "stage_duration",
        "via",
        "isolation",
        "seed",
        "check",
        "checkpoint",
        "vacuum",
        "vacuums",
        "warm",
        "steady",
        "jobs",
        "foreign_keys",
        "date",
        "set",
        "none",
        "standard",
        "standard*1e9",
        "random",
        "serializable",
        "99999d",
        "1ns",
    ];
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("plan.toml");
    let seeds: Vec<Vec<u8>> = PLANS.map(|text| text.as_bytes().to_vec()).into();
    let inputs = edited(&seeds, &words);
    Target { name: "plans", inputs: 2_000, seeds }.run(&inputs, |input| {
        put(&path, input);
        let Ok(plan) = Plan::read(&path) else { return false };
        let _ = (plan.staged().is_ok(), plan.settings(), plan.db(WorkloadName::Tpcc).to_string());
        let text = plan.to_toml().expect("a plan that was read can be written");
        let _ = plan.or(Plan::default());
        put(&path, text.as_bytes());
        let again = Plan::read(&path).expect("and read again");
        assert_eq!(again.to_toml().expect("and written again"), text);
        true
    });
}

/// The price files of the examples.
pub const PRICES: [&str; 2] =
    [include_str!("../../examples/price.toml"), include_str!("../../examples/memory-or-cpus.toml")];

#[test]
fn prices() {
    let words = ["currency", "years", "[[parts]]", "name", "price", "quantity", "yearly", "cpus", "memory_gib", "most"];
    let seeds: Vec<Vec<u8>> = PRICES.map(|text| text.as_bytes().to_vec()).into();
    let inputs = edited(&seeds, &words);
    Target { name: "prices", inputs: 2_000, seeds }.run(&inputs, |input| {
        let Ok(list) = std::str::from_utf8(input).map_err(|_| String::new()).and_then(PriceList::parse) else {
            return false;
        };
        for figure in [0.01, 12.5, 1e14] {
            let price = list.of(&crate::records::summary(figure));
            assert!(price.per_metric.is_none_or(f64::is_finite), "{price:?}");
        }
        if let Ok(variants) = list.variants() {
            assert!(variants.iter().all(|variant| variant.cpus > 0 && variant.memory_gib > 0.0));
        }
        true
    });
}
