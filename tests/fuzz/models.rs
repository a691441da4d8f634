//! Files that predictions are made from: models, and tables of measured points.

use std::fs;
use std::path::Path;

use graymark::cpus::CpuCount;
use graymark::judge::price::PriceList;
use graymark::report::sizing;
use graymark::study::sizing::fit::{Options, fit};
use graymark::study::sizing::model::Model;
use graymark::study::sizing::observation::{COLUMNS, HitRate, read, write};
use graymark::study::sizing::predict::{Goal, Offer, Predictor, candidates, doublings, run};

use crate::edit::edited;
use crate::plans::PRICES;
use crate::watch::{Target, is_one_of_sixteen};

const PAPER: &str = include_str!("../../examples/tsuei-1997.toml");
const POINTS: &str = include_str!("../../docs/sizing/points.csv");

/// A table with every kind of line, short enough to be changed much.
fn few_points() -> Vec<u8> {
    let lines: Vec<&str> = POINTS.lines().filter(|line| !line.starts_with('#')).collect();
    let some = lines.iter().skip(1).step_by(1 + lines.len() / 24);
    std::iter::once(&lines[0]).chain(some).flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect()
}

/// What `graymark predict fit` makes of the table.
fn fitted() -> Model {
    let points = read(POINTS.as_bytes()).unwrap();
    fit(&points, &Options { source: "points.csv".to_owned(), ..Options::default() }).unwrap()
}

#[test]
fn models() {
    let words = [
        "format",
        "source",
        "bytes_per_warehouse",
        "measured_cpus",
        "notes",
        "hit_rate_of",
        "[hit_rate]",
        "constant",
        "per_warehouse",
        "slope",
        "[hit_rate.range]",
        "warehouses",
        "predictor",
        "[hit_rate.statistics]",
        "centre",
        "[[throughput]]",
        "cpus",
        "[[scaling]]",
        "law",
        "parameter",
        "amdahl",
        "geometric",
        "quadratic",
        "[[knees]]",
        "reading",
        "rule",
        "knee",
    ];
    let fitted = fitted().text().unwrap();
    let seeds: Vec<Vec<u8>> = vec![PAPER.into(), fitted.into()];
    let inputs = edited(&seeds, &words);
    Target { name: "models", inputs: 800, seeds }.run(&inputs, |input| {
        let Ok(model) = std::str::from_utf8(input).map_err(|_| String::new()).and_then(Model::parse) else {
            return false;
        };
        let text = model.text().expect("a model that was read can be written");
        Model::parse(&text).expect("and read again");
        use_model(&model);
        true
    });
}

/// All that `graymark predict` does with a model.
fn use_model(model: &Model) {
    let _ = sizing::text::model(model);
    let _ = sizing::text::ratios(model, &[1, 2, 4, 100_000].map(CpuCount::whole).map(Option::unwrap));
    for (warehouses, buffer) in [(1.0, 4096.0), (375.0, 3e9), (1e12, 0.001)] {
        let hit = model.hit(warehouses, buffer);
        let _ = sizing::text::hit(model.hit_rate_of, warehouses, buffer, None, &hit);
        let _ = model.buffer_for(warehouses, 95.0);
    }
    for cpus in [None, CpuCount::whole(1), CpuCount::whole(4), CpuCount::whole(100_000), "0.5".parse().ok()] {
        let Ok(predictor) = Predictor::new(model, cpus, None) else { continue };
        let _ = sizing::text::point(&predictor, &predictor.at(375.0, 3e9));
        let _ = sizing::text::doublings(model.hit_rate_of, &doublings(&predictor, 375.0, 3e8, 20));
        for ratio in [12.86, 0.001] {
            if let Ok(run) = run(&predictor, 375.0, 3e9, ratio, 1e-3) {
                let _ = sizing::text::run(&predictor, &run);
            }
        }
    }
    let prices = PriceList::parse(PRICES[1]).unwrap();
    let offers = prices.variants().unwrap().into_iter().step_by(9).map(|variant| Offer {
        parts: variant.parts,
        cpus: variant.cpus,
        memory_bytes: variant.memory_gib * f64::from(1 << 30),
        price: variant.price,
    });
    let goal = Goal { throughput: 2_000.0, warehouses: 100.0, ratio: Some(12.0), other_memory: 1e8, law: None };
    if let Ok(all) = candidates(model, offers.collect(), &goal) {
        let _ = sizing::text::cheapest(model.hit_rate_of, &all, goal.throughput, "USD", true);
    }
}

#[test]
fn points() {
    let words: Vec<&str> = COLUMNS.into_iter().chain(["100", "4096", "12.86"]).collect();
    let seeds: Vec<Vec<u8>> = vec![few_points()];
    let place = tempfile::tempdir().unwrap();
    let inputs = edited(&seeds, &words);
    Target { name: "points", inputs: 300, seeds }.run(&inputs, |input| {
        let Ok(points) = read(input) else { return false };
        let mut written = Vec::new();
        write(&mut written, &points).unwrap();
        assert_eq!(read(&*written).expect("a table that was read can be written and read"), points);
        let _ = HitRate::of(&points);
        for keep_plateau in [false, true] {
            let model = fit(&points, &Options { source: "a table".to_owned(), keep_plateau, ..Options::default() });
            if let Ok(model) = &model {
                let text = model.text().expect("a model that was fitted can be written");
                Model::parse(&text).unwrap_or_else(|why| panic!("and read again: {why}\n{text}"));
                let _ = sizing::text::model(model);
            }
            report(place.path(), &model, input);
        }
        true
    });
}

/// The page with its figures, of one input in sixteen: it takes most of the time.
fn report(place: &Path, model: &Result<Model, String>, input: &[u8]) {
    if is_one_of_sixteen(input) {
        let points = read(input).unwrap();
        sizing::write(place, "a table", &[], &points, model.as_ref()).expect("the report is written");
        assert!(fs::metadata(place.join(sizing::file::HTML)).unwrap().len() > 0);
    }
}
