use super::*;

/// Warehouses, sizes in pages.
fn options(warehouses: u32, pages: &[u64]) -> Options {
    Options {
        pages: Pages::Postgres,
        per_second: 0,
        warehouses,
        sizes: pages.iter().map(|pages| pages * 8192).collect(),
        page: 8192,
        policy: Policy::Lru,
        seed: 1,
        sessions: 4,
        sample: None,
        warm_up: Some(8_000),
        transactions: Some(8_000),
        from_empty: true,
    }
}

fn run(options: &Options) -> Simulation {
    simulate(options, &mut |_| true).unwrap()
}

fn overall(simulation: &Simulation) -> Vec<f64> {
    simulation.sizes.iter().map(|size| size.overall.unwrap()).collect()
}

#[test]
fn a_larger_buffer_never_has_less_and_new_pages_are_in_none() {
    let simulation = run(&options(2, &[100, 1_000, 3_000, 10_000, 1_000_000]));
    let rates = overall(&simulation);
    assert!(rates.is_sorted() && rates[0] > 50.0 && rates[4] < 100.0, "{rates:?}");
    let created: f64 = simulation.relations.values().map(|relation| relation.created_per_transaction).sum();
    let at_most = simulation.sizes[4].misses_per_transaction;
    assert!(created > 0.0 && at_most >= created, "{created} {at_most}");
    assert_eq!(simulation.relations.len(), 19);
}

#[test]
fn what_nobody_can_know_is_left_out_unless_the_buffer_began_empty() {
    let empty = run(&options(2, &[500, 1_000_000]));
    let known = run(&Options { from_empty: false, ..options(2, &[500, 1_000_000]) });
    // The small buffer was full before counting started; the large one never is.
    assert_eq!((known.sizes[0].unknown, known.sizes[0].overall), (0.0, empty.sizes[0].overall));
    assert!(known.sizes[1].unknown > 0.0 && known.sizes[1].overall > empty.sizes[1].overall);
}

#[test]
fn a_clock_is_near_to_lru_and_its_sizes_do_not_meddle_with_each_other() {
    let sizes = [400, 2_000, 8_000];
    let lru = overall(&run(&options(2, &sizes)));
    for policy in [Policy::Clock, Policy::ClockSweep] {
        let together = overall(&run(&Options { policy, ..options(2, &sizes) }));
        let alone: Vec<f64> =
            sizes.iter().flat_map(|size| overall(&run(&Options { policy, ..options(2, &[*size]) }))).collect();
        assert_eq!(together, alone, "{policy:?}");
        assert!(together.iter().zip(&lru).all(|(clock, lru)| (clock - lru).abs() < 4.0), "{together:?} {lru:?}");
        assert_ne!(together, lru);
    }
}

#[test]
fn a_quarter_of_the_warehouses_stands_for_all() {
    let all = Options { warm_up: Some(24_000), transactions: Some(16_000), ..options(16, &[4_000, 16_000, 64_000]) };
    let sampled = Options { sample: Some(4), warm_up: Some(6_000), transactions: Some(4_000), ..all.clone() };
    let (all, sampled) = (run(&all), run(&sampled));
    assert_eq!((all.simulated_warehouses, sampled.simulated_warehouses), (16, 4));
    for (all, sampled) in all.sizes.iter().zip(&sampled.sizes) {
        for (all, sampled) in [(all.overall, sampled.overall), (all.data, sampled.data), (all.index, sampled.index)] {
            assert!((all.unwrap() - sampled.unwrap()).abs() < 1.0, "{all:?} {sampled:?}");
        }
    }
    let grown = all.database_bytes as f64 / sampled.database_bytes as f64;
    assert!((grown - 1.0).abs() < 0.01, "{grown}");
}

#[test]
fn the_same_seed_gives_the_same_figures_and_it_ends_when_it_is_told_to() {
    let few = Options { warm_up: Some(2_000), transactions: Some(30_000), ..options(1, &[1_000]) };
    assert_eq!(run(&few), run(&few));
    assert_ne!(run(&few).sizes, run(&Options { seed: 2, ..few.clone() }).sizes);
    let ended = simulate(&few, &mut |_| false).unwrap();
    assert!(ended.interrupted && ended.transactions == STEP && ended.sizes[0].overall.is_some());
}

#[test]
fn a_buffer_without_a_page_is_refused() {
    let why = simulate(&options(10_000, &[1]), &mut |_| true).unwrap_err();
    assert!(why.contains("--buffer"), "{why}");
    assert!(simulate(&options(1, &[]), &mut |_| true).is_err());
}

#[test]
fn half_of_the_warehouses_stand_for_all_on_innodb() {
    let all = Options {
        pages: Pages::Innodb,
        per_second: 400,
        page: 16 << 10,
        policy: Policy::Midpoint,
        sizes: [64, 128, 256, 4_096].map(|mib| mib << 20).into(),
        warm_up: Some(12_000),
        transactions: Some(8_000),
        ..options(8, &[1])
    };
    let half = Options { sample: Some(4), warm_up: Some(6_000), transactions: Some(4_000), ..all.clone() };
    let (all, half) = (run(&all), run(&half));
    assert_eq!((all.layout, all.simulated_warehouses, half.simulated_warehouses), ("InnoDB", 8, 4));
    assert!(overall(&all).is_sorted(), "{:?}", overall(&all));
    for (all, half) in overall(&all).iter().zip(overall(&half)) {
        assert!((all - half).abs() < 1.0, "{all} {half}");
    }
    // Undo is neither a table nor an index, and created pages are no misses.
    assert!(!all.relations["undo"].index && all.relations["customer_name"].index && !all.relations["stock"].index);
    let history = &all.sizes[3].relations["history"];
    assert!(all.relations["history"].created_per_transaction > 0.0 && history.is_some_and(|rate| rate == 100.0));
}
