// SPDX-License-Identifier: MIT

// A Rust program: ownership and drops, traits, closures, collections, iterators, threads, channels, locks, atomics,
// panics caught and in threads, checked arithmetic, formatting, files, processes' environment. Output is the same on
// every machine.
use std::cell::RefCell;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet, VecDeque};
use std::fmt;
use std::fs;
use std::io::{self, BufRead, Read, Seek, SeekFrom, Write};
use std::panic;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Barrier, Condvar, Mutex, RwLock};
use std::thread;
use std::time::{Duration, Instant};

static DROPS: AtomicUsize = AtomicUsize::new(0);
struct Noisy(u32);
impl Drop for Noisy {
    fn drop(&mut self) {
        DROPS.fetch_add(self.0 as usize, Ordering::SeqCst);
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Expression {
    Number(f64),
    Sum(Box<Expression>, Box<Expression>),
    Product(Box<Expression>, Box<Expression>),
}
impl Expression {
    fn value(&self) -> f64 {
        match self {
            Expression::Number(n) => *n,
            Expression::Sum(a, b) => a.value() + b.value(),
            Expression::Product(a, b) => a.value() * b.value(),
        }
    }
}
impl fmt::Display for Expression {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expression::Number(n) => write!(out, "{n}"),
            Expression::Sum(a, b) => write!(out, "({a} + {b})"),
            Expression::Product(a, b) => write!(out, "{a} * {b}"),
        }
    }
}

struct Random(u64);
impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

fn ownership() {
    {
        let kept = Noisy(1);
        let moved = Noisy(10);
        let shared = Rc::new(RefCell::new(vec![Noisy(100)]));
        let other = Rc::clone(&shared);
        other.borrow_mut().push(Noisy(1000));
        drop(moved);
        std::mem::forget(kept);
        println!("ownership {} {}", DROPS.load(Ordering::SeqCst), Rc::strong_count(&shared));
    }
    println!("dropped {}", DROPS.load(Ordering::SeqCst));
    let number = |n| Box::new(Expression::Number(n));
    let tree = Expression::Sum(number(1.5), Box::new(Expression::Product(number(2.0), number(3.25))));
    println!("{tree} = {} {:?}", tree.value(), tree.clone() == tree);
}

fn collections() {
    let mut random = Random(88172645463325252);
    let mut hash = HashMap::new();
    let mut tree = BTreeMap::new();
    let mut set = HashSet::new();
    let mut heap = BinaryHeap::new();
    let mut queue = VecDeque::new();
    for i in 0..20000u64 {
        let r = random.next() % 3000;
        *hash.entry(r).or_insert(0u64) += i;
        tree.insert(format!("{:04}", r), i);
        set.insert(r % 701);
        heap.push(r);
        queue.push_back(r);
        if queue.len() > 50 {
            queue.pop_front();
        }
    }
    let sum: u64 = hash.values().sum();
    let first = tree.iter().next().map(|(key, value)| (key.clone(), *value));
    let top: Vec<u64> = (0..3).filter_map(|_| heap.pop()).collect();
    println!("collections {} {} {:?} {} {:?} {}", hash.len(), sum, first, set.len(), top, queue.iter().sum::<u64>());
    let text = "the quick brown fox jumps over the lazy dog the end";
    let mut words: Vec<(usize, &str)> = text.split(' ').fold(HashMap::new(), |mut counts, word| {
        *counts.entry(word).or_insert(0) += 1;
        counts
    }).into_iter().map(|(word, n)| (n, word)).collect();
    words.sort_by(|a, b| b.cmp(a));
    println!("words {:?} {}", &words[..2], text.chars().rev().filter(|c| c.is_alphabetic()).collect::<String>());
}

fn threads() {
    let total = Arc::new(AtomicU64::new(0));
    let table = Arc::new(RwLock::new(HashMap::new()));
    let list = Arc::new(Mutex::new(Vec::new()));
    let barrier = Arc::new(Barrier::new(4));
    let handles: Vec<_> = (0..4u64).map(|t| {
        let (total, table, list, barrier) = (total.clone(), table.clone(), list.clone(), barrier.clone());
        thread::Builder::new().name(format!("worker-{t}")).spawn(move || {
            for i in 0..2000 {
                total.fetch_add(i * t, Ordering::Relaxed);
                if i % 20 == 0 {
                    table.write().unwrap().insert((t, i), i);
                    list.lock().unwrap().push(i);
                }
            }
            barrier.wait();
            assert_eq!(table.read().unwrap().len(), 400);
            thread::current().name().unwrap().len()
        }).unwrap()
    }).collect();
    let names: usize = handles.into_iter().map(|handle| handle.join().unwrap()).sum();
    println!("threads {} {} {} {}", total.load(Ordering::SeqCst), table.read().unwrap().len(), list.lock().unwrap().len(), names);

    let (sender, receiver) = mpsc::sync_channel(4);
    thread::scope(|scope| {
        for part in 0..3 {
            let sender = sender.clone();
            scope.spawn(move || (0..1000).for_each(|i| sender.send(i * part).unwrap()));
        }
        drop(sender);
        println!("channel {}", receiver.iter().sum::<i32>());
    });

    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let waker = pair.clone();
    let start = Instant::now();
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(10));
        *waker.0.lock().unwrap() = true;
        waker.1.notify_all();
    });
    let guard = pair.1.wait_while(pair.0.lock().unwrap(), |ready| !*ready).unwrap();
    println!("condition {} {}", *guard, start.elapsed() >= Duration::from_millis(10));
    drop(guard);
    let result = pair.1.wait_timeout(pair.0.lock().unwrap(), Duration::from_millis(5)).unwrap();
    println!("timed out {}", result.1.timed_out());
}

fn panics() {
    panic::set_hook(Box::new(|_| {}));
    let before = DROPS.load(Ordering::SeqCst);
    let empty: Vec<i32> = Vec::new();
    let index = panic::catch_unwind(|| {
        let _guard = Noisy(5);
        empty[empty.len() + 3]
    });
    println!("index {} unwound {}", index.is_err(), DROPS.load(Ordering::SeqCst) - before);
    let poisoned = Arc::new(Mutex::new(0));
    let other = poisoned.clone();
    let joined = thread::spawn(move || {
        let _guard = other.lock().unwrap();
        panic!("with a {}", "lock");
    }).join();
    println!("{:?} poisoned {}", joined.unwrap_err().downcast_ref::<String>(), poisoned.is_poisoned());
    println!("{:?} {:?} {}", 200u8.checked_add(100), i32::MIN.checked_div(-1), i64::MAX.wrapping_add(2));
    println!("{} {} {}", 1e300f64 as i32, f32::NAN as u64, -5.9f64 as i8);
    let _ = panic::take_hook();
}

fn files() -> io::Result<()> {
    let name = "lang-rust.txt";
    let mut file = fs::OpenOptions::new().create(true).read(true).write(true).truncate(true).open(name)?;
    for i in 0..1000 {
        writeln!(file, "{i}:{}", i * i)?;
    }
    file.seek(SeekFrom::Start(0))?;
    let sum: u64 = io::BufReader::new(&file).lines().map(|line| line.unwrap().split(':').nth(1).unwrap().parse::<u64>().unwrap()).sum();
    let mut text = String::new();
    fs::File::open(name)?.take(9).read_to_string(&mut text)?;
    println!("files {sum} {:?} {}", text, fs::metadata(name)?.len());
    fs::remove_file(name)?;
    println!("{:?}", fs::metadata(name).map_err(|e| e.kind()).unwrap_err());
    Ok(())
}

fn arithmetic() {
    let mut sum = 0.0f64;
    for i in 1..2000 {
        let x = i as f64 / 100.0;
        sum += x.sin() * x.sqrt() + (x.mul_add(2.0, 1.0)).ln() - x.powi(3).recip();
    }
    let wide = (1..=30u128).product::<u128>();
    println!("arithmetic {sum:.9} {wide} {} {} {}", u64::MAX.leading_zeros(), 0x00f0u16.swap_bytes(), (-7i32).rem_euclid(4));
}

fn main() {
    println!("arguments {}", std::env::args().count());
    ownership();
    collections();
    threads();
    panics();
    files().unwrap();
    arithmetic();
    std::process::exit(5);
}
