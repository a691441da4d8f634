//! Runs a target over many inputs, each watched for time, memory and panics. The input at work is kept in a file, so
//! that it is there whatever becomes of the process.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once};
use std::time::{Duration, Instant};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

/// The most memory that an input may have taken at any moment, in bytes.
const MOST_MEMORY: isize = 512 << 20;
/// The longest that an input may keep a processor busy.
const LONGEST: Duration = Duration::from_secs(5);
/// The longest that it may take by the clock, on a machine that may have much else to do.
const LONGEST_AT_ALL: Duration = Duration::from_secs(120);
/// How long an input that is right may be refused, because its answers are late.
const SEED_PATIENCE: Duration = Duration::from_secs(120);
/// How many inputs a target gets; without it each has its own small number.
const INPUTS: &str = "GRAYMARK_FUZZ_INPUTS";
/// The seed of new inputs; without it they are the same each time.
const SEED: &str = "GRAYMARK_FUZZ_SEED";

thread_local! {
    /// Bytes that this thread has taken and not given back since its input began; below 0 if it gave back older ones.
    static TAKEN: Cell<isize> = const { Cell::new(0) };
    /// The most that these have been.
    static MOST: Cell<isize> = const { Cell::new(0) };
    /// Panics of Graymark's own code since the input began, which it may have caught itself.
    static PANICS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    /// Whether an input is at work in this thread.
    static AT_WORK: Cell<bool> = const { Cell::new(false) };
}

/// Counts what each thread takes.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(bytes: isize) {
    // A thread that ends has no counters any more.
    let Ok(taken) = TAKEN.try_with(|taken| {
        taken.set(taken.get() + bytes);
        taken.get()
    }) else {
        return;
    };
    let _ = MOST.try_with(|most| most.set(most.get().max(taken)));
    if taken > MOST_MEMORY && AT_WORK.try_with(|at_work| at_work.replace(false)).unwrap_or(false) {
        give_up(&format!("an input took {} MiB of memory", taken >> 20));
    }
}

// SAFETY: all is done by the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        unsafe { System.realloc(old, layout, size) }
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        unsafe { System.dealloc(old, layout) }
    }
}

/// Ends the process, for what an input does cannot be stopped otherwise. The inputs at work are in their files.
fn give_up(why: &str) -> ! {
    let at_work = BEGUN.lock().map(|begun| begun.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
    let mut reported = format!("fuzz: {why}; it is one of\n");
    at_work.iter().for_each(|name| reported += &format!("  {}\n", input_file(name).display()));
    // Not by a macro: what a test prints is kept back.
    let _ = std::io::stderr().write_all(reported.as_bytes());
    std::process::abort();
}

/// The input at work in a target.
struct Begun {
    when: Instant,
    /// What the thread had used of the processors before.
    busy: Duration,
    thread: PathBuf,
}

impl Begun {
    fn now() -> Begun {
        let thread = Path::new("/proc/self/task").join(nix::unistd::gettid().to_string()).join("schedstat");
        Begun { when: Instant::now(), busy: busy(&thread), thread }
    }

    fn is_late(&self) -> bool {
        let took = self.when.elapsed();
        took > LONGEST_AT_ALL || (took > LONGEST && busy(&self.thread).saturating_sub(self.busy) > LONGEST)
    }
}

/// How long a thread has been on a processor; nothing where the system does not tell.
fn busy(thread: &Path) -> Duration {
    let reported = fs::read_to_string(thread).unwrap_or_default();
    Duration::from_nanos(reported.split(' ').next().and_then(|nanoseconds| nanoseconds.parse().ok()).unwrap_or(0))
}

/// The input at work in each target.
static BEGUN: Mutex<BTreeMap<String, Begun>> = Mutex::new(BTreeMap::new());

/// Where the sources of the libraries lie that Graymark uses.
const LIBRARIES: &str = "/registry/src/";

/// Keeps the panics of Graymark's own code. A driver's is an answer that cannot be read (`engine/guard.rs`), and is not
/// told.
fn watch_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let reported = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let place = panic.location().map(ToString::to_string).unwrap_or_default();
            if !AT_WORK.get() || !place.contains(LIBRARIES) {
                PANICS.with_borrow_mut(|panics| panics.push(place));
                reported(panic);
            }
        }));
    });
}

/// Looks at all targets at work from time to time.
fn watch_time() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::thread::spawn(|| {
            loop {
                std::thread::sleep(Duration::from_millis(200));
                let late = BEGUN.lock().is_ok_and(|begun| begun.values().any(Begun::is_late));
                if late {
                    give_up("an input took too long");
                }
            }
        });
    });
}

/// Writes a file anew, as it is done for many inputs one after the other.
pub fn put(path: &Path, content: &[u8]) {
    let file = File::options().create(true).truncate(false).write(true).open(path).expect("a place for a file");
    file.write_all_at(content, 0).and_then(|()| file.set_len(content.len() as u64)).expect("a file can be written");
}

/// Whether an input is one of a sixteenth of all, for what takes too long to be done with each.
pub fn is_one_of_sixteen(input: &[u8]) -> bool {
    input.iter().map(|byte| u32::from(*byte)).sum::<u32>().is_multiple_of(16)
}

/// Where the input at work stands.
fn input_file(target: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{target}-{}.input", std::process::id()))
}

/// A target: what it is fed with, and what it does.
pub struct Target {
    /// Its name, and that of its folder in the corpus.
    pub name: &'static str,
    /// Inputs without the script.
    pub inputs: u32,
    /// Inputs that are right.
    pub seeds: Vec<Vec<u8>>,
}

/// What came of the inputs of a target.
#[derive(Default)]
struct Tally {
    inputs: u64,
    taken: u64,
    longest: Duration,
    most: isize,
}

impl Target {
    /// Runs it on inputs of a strategy. `body` says whether it took an input, or refused it.
    ///
    /// Every seed has to be taken, and of the new inputs some have to be taken and some refused: else they would not
    /// get beyond the first look at them.
    pub fn run(self, inputs: &impl Strategy<Value = Vec<u8>>, body: impl Fn(&[u8]) -> bool) {
        let alone =
            std::env::var(INPUTS).ok().map(|text| text.parse::<u32>().expect("GRAYMARK_FUZZ_INPUTS is a number"));
        watch_time();
        watch_panics();
        let path = input_file(self.name);
        let file = File::options()
            .create(true)
            .truncate(true)
            .read(true)
            .write(true)
            .open(&path)
            .expect("a place for the input");
        let tally = RefCell::new(Tally::default());
        let once = |input: &[u8]| -> Result<bool, String> {
            // Not cut to nothing first: some file systems then write to the disk each time.
            file.write_all_at(input, 0).and_then(|()| file.set_len(input.len() as u64)).expect("the input is kept");
            let began = Instant::now();
            BEGUN.lock().expect("no one panics with it").insert(self.name.to_owned(), Begun::now());
            TAKEN.set(0);
            MOST.set(0);
            PANICS.take();
            AT_WORK.set(true);
            let done = catch_unwind(AssertUnwindSafe(|| body(input)));
            AT_WORK.set(false);
            BEGUN.lock().expect("no one panics with it").remove(self.name);
            let mut tally = tally.borrow_mut();
            tally.inputs += 1;
            tally.taken += u64::from(*done.as_ref().unwrap_or(&false));
            tally.longest = tally.longest.max(began.elapsed());
            tally.most = tally.most.max(MOST.get());
            if let (Ok(_), Some(place)) = (&done, PANICS.take().first()) {
                return Err(format!("a panic at {place}, which was caught"));
            }
            done.map_err(|panic| {
                let text = panic.downcast_ref::<String>().cloned();
                text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()))
                    .unwrap_or_else(|| "a panic".to_owned())
            })
        };

        for (name, input) in corpus(self.name) {
            if let Err(why) = once(&input) {
                panic!("{name}: {why}");
            }
        }
        let taken =
            |seed: &&Vec<u8>| once(seed).unwrap_or_else(|why| panic!("{}: {why}", String::from_utf8_lossy(seed)));
        // On a busy machine, answers may be late for a while.
        let taken_in_time = |seed: &&Vec<u8>| {
            let begin = Instant::now();
            loop {
                let taken = taken(seed);
                if taken || begin.elapsed() > SEED_PATIENCE {
                    return taken;
                }
            }
        };
        let refused = self.seeds.iter().filter(|seed| !taken_in_time(seed));
        let refused: Vec<_> = refused.map(|seed| String::from_utf8_lossy(seed)).collect();
        assert!(refused.is_empty(), "{}: what is right is refused: {refused:#?}", self.name);
        *tally.borrow_mut() = Tally::default();

        let cases = alone.unwrap_or(self.inputs);
        let config = Config { cases, failure_persistence: None, max_shrink_iters: 4_096, ..Config::default() };
        let mut seed = [0; 32];
        let number =
            std::env::var(SEED).ok().map_or(1, |text| text.parse::<u64>().expect("GRAYMARK_FUZZ_SEED is a number"));
        seed[..8].copy_from_slice(&number.to_le_bytes());
        let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
        let began = Instant::now();
        let ended = runner.run(inputs, |input| once(&input).map(|_| ()).map_err(TestCaseError::fail));
        match ended {
            Ok(()) => fs::remove_file(&path).expect("it is there"),
            Err(TestError::Fail(why, input)) => {
                // The smallest that was found, and not the last that was tried.
                fs::write(&path, &input).expect("the input is kept");
                panic!("{why}\n  with the input {}\n  {}", path.display(), input.escape_ascii());
            }
            Err(TestError::Abort(why)) => panic!("{why}"),
        }
        let Tally { inputs, taken, longest, most } = tally.into_inner();
        println!(
            "fuzz {}: {inputs} inputs, {taken} of them taken, in {:.1} s; the longest took {:.1} ms, the largest {:.1} \
             MiB",
            self.name,
            began.elapsed().as_secs_f64(),
            longest.as_secs_f64() * 1e3,
            most as f64 / 1_048_576.0,
        );
        assert!(0 < taken && taken < inputs, "{}: {taken} of {inputs} inputs were taken", self.name);
    }
}

/// The inputs that are kept, by their files.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(target);
    let mut files: Vec<PathBuf> =
        fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
        .into_iter()
        .map(|path| (path.display().to_string(), fs::read(&path).expect("a kept input can be read")))
        .collect()
}
