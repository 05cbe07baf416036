// SPDX-License-Identifier: GPL-2.0-or-later
// Counts words, and finds the longest line by counting its characters again and again: words SECONDS
use std::collections::HashMap;

fn count(text: &str) -> HashMap<String, usize> {
    let mut words = HashMap::new();
    for word in text.split_whitespace().take(40) {
        *words.entry(word.to_string()).or_insert(0) += 1;
    }
    words
}

#[inline(never)]
fn longest(lines: &[String]) -> usize {
    let mut best = 0;
    for i in 0..lines.len() {
        if lines[i].chars().filter(|c| c.is_alphabetic()).count() > lines[best].chars().filter(|c| c.is_alphabetic()).count() { // GUILTY
            best = i;
        }
    }
    best
}

fn main() {
    let seconds: f64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let lines: Vec<String> = (0..200).map(|i| "lorem ipsum dolor sit amét ".repeat(1 + i % 17)).collect();
    let mut sum = 0;
    for _ in 0..(seconds * 1500.0) as usize {
        sum += longest(&lines) + count(&lines[sum % 200]).len();
    }
    println!("{}", sum > 0);
}
