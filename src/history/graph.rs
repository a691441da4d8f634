//! Dependencies between transactions, and cycles in them.

use std::collections::{BTreeMap, VecDeque};

use super::Kind;

/// How one transaction depends on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    /// The second overwrote what the first had written.
    WriteWrite = 1,
    /// The second read what the first had written.
    WriteRead = 2,
    /// The second overwrote what the first had read.
    ReadWrite = 4,
}

const WRITES: u8 = Edge::WriteWrite as u8;
const INFORMATION: u8 = WRITES | Edge::WriteRead as u8;
const ALL: u8 = INFORMATION | Edge::ReadWrite as u8;

/// The maximum number of steps in the search for shortest cycles, over all strongly connected components. The first
/// cycle of each is searched to its end, which takes time linear in its size.
const STEPS: usize = 4_000_000;

/// The dependency graph.
#[derive(Debug, Default)]
pub(super) struct Graph {
    edges: Vec<(u32, u32, u8)>,
    /// The first edge of each transaction; set when the graph is closed.
    begins: Vec<u32>,
}

impl Graph {
    pub(super) fn add(&mut self, from: u32, to: u32, edge: Edge) {
        if from != to {
            self.edges.push((from, to, edge as u8));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.edges.len()
    }

    /// Call it after the last edge.
    pub(super) fn close(&mut self, transactions: usize) {
        self.edges.sort_unstable();
        self.edges.dedup();
        self.begins = vec![0; transactions + 1];
        for (from, _, _) in &self.edges {
            if let Some(next) = self.begins.get_mut(*from as usize + 1) {
                *next += 1;
            }
        }
        let mut so_far = 0;
        for begin in &mut self.begins {
            so_far += *begin;
            *begin = so_far;
        }
    }

    /// The edges of these kinds from a transaction.
    fn from(&self, node: u32, kinds: u8) -> impl Iterator<Item = (u32, u8)> {
        let place = |at: usize| self.begins.get(at).map_or(self.edges.len(), |begin| *begin as usize);
        let edges = self.edges.get(place(node as usize)..place(node as usize + 1)).unwrap_or_default();
        edges.iter().filter(move |(_, _, kind)| kind & kinds != 0).map(|(_, to, kind)| (*to, *kind))
    }

    /// A cycle for each strongly connected component, of the most serious kind that it has.
    pub(super) fn cycles(&self) -> Vec<(Kind, Vec<u32>)> {
        let mut cycles = Vec::new();
        let mut left = STEPS;
        let mut explained = vec![false; self.begins.len()];
        for (kinds, kind) in [(WRITES, Kind::G0), (INFORMATION, Kind::G1c), (ALL, Kind::G2)] {
            for group in self.groups(kinds) {
                let known = group.iter().any(|node| explained.get(*node as usize).is_none_or(|known| *known));
                if known {
                    continue;
                }
                let found = match kind {
                    Kind::G2 => self.with_reads(&group, &mut left),
                    _ => self.shortest(&group, kinds, kinds, &mut left),
                };
                let Some(cycle) = found else { continue };
                let single = kind == Kind::G2 && self.reads_in(&cycle) == 1;
                for node in &group {
                    if let Some(known) = explained.get_mut(*node as usize) {
                        *known = true;
                    }
                }
                cycles.push((if single { Kind::GSingle } else { kind }, cycle));
            }
        }
        cycles
    }

    /// A cycle with a single anti-dependency, if there is one, otherwise with several.
    fn with_reads(&self, group: &[u32], left: &mut usize) -> Option<Vec<u32>> {
        let reads = Edge::ReadWrite as u8;
        let single = self.shortest(group, reads, INFORMATION, left);
        single.or_else(|| self.shortest(group, reads, ALL, left))
    }

    /// How many steps of a cycle can only be anti-dependencies.
    fn reads_in(&self, cycle: &[u32]) -> usize {
        let next = cycle.iter().cycle().skip(1);
        let informs = |from: u32, to: u32| self.from(from, INFORMATION).any(|(other, _)| other == to);
        cycle.iter().zip(next).filter(|(from, to)| !informs(**from, **to)).count()
    }

    /// A cycle that begins with an edge of the kinds `first` and continues over those of `kinds`: the shortest one that
    /// is found in at most half of the steps that are left.
    fn shortest(&self, group: &[u32], first: u8, kinds: u8, left: &mut usize) -> Option<Vec<u32>> {
        let inside = |node: &u32| group.binary_search(node).is_ok();
        let starts = group.iter().flat_map(|from| self.from(*from, first).map(move |(to, _)| (*from, to)));
        let mut best: Option<Vec<u32>> = None;
        // A component leaves something for those after it.
        let mut own = *left / 2;
        for (number, (from, to)) in starts.filter(|(_, to)| inside(to)).enumerate() {
            if number > 0 && own == 0 {
                break;
            }
            let mut before: BTreeMap<u32, u32> = BTreeMap::new();
            let mut queue = VecDeque::from([to]);
            while let Some(node) = queue.pop_front() {
                if node == from {
                    break;
                }
                for (next, _) in self.from(node, kinds).filter(|(next, _)| inside(next)) {
                    own = own.saturating_sub(1);
                    *left = left.saturating_sub(1);
                    if next != to && !before.contains_key(&next) {
                        before.insert(next, node);
                        queue.push_back(next);
                    }
                }
            }
            if !before.contains_key(&from) {
                continue;
            }
            let mut cycle = vec![from];
            while let Some(node) = cycle.last().and_then(|last| before.get(last)) {
                cycle.push(*node);
                if *node == to {
                    break;
                }
            }
            cycle.reverse();
            if best.as_ref().is_none_or(|best| cycle.len() < best.len()) {
                best = Some(cycle);
            }
        }
        best
    }

    /// Strongly connected components of several transactions over edges of these kinds (Tarjan, 1972), without
    /// recursion. Each is sorted.
    fn groups(&self, kinds: u8) -> Vec<Vec<u32>> {
        const UNSEEN: u32 = u32::MAX;
        let nodes = self.begins.len().saturating_sub(1);
        let mut number = vec![UNSEEN; nodes];
        let mut low = vec![0; nodes];
        let mut on_stack = vec![false; nodes];
        let (mut stack, mut groups, mut count) = (Vec::new(), Vec::new(), 0);
        for root in 0..nodes as u32 {
            if number[root as usize] != UNSEEN {
                continue;
            }
            let mut work = vec![(root, 0_usize)];
            while let Some((node, done)) = work.pop() {
                let at = node as usize;
                if done == 0 {
                    (number[at], low[at], on_stack[at]) = (count, count, true);
                    count += 1;
                    stack.push(node);
                }
                let place = self.begins[at] as usize + done;
                if let Some((_, to, kind)) = self.edges.get(place).filter(|_| place < self.begins[at + 1] as usize) {
                    work.push((node, done + 1));
                    let to_at = *to as usize;
                    if kind & kinds == 0 {
                        continue;
                    }
                    if number[to_at] == UNSEEN {
                        work.push((*to, 0));
                    } else if on_stack[to_at] {
                        low[at] = low[at].min(number[to_at]);
                    }
                    continue;
                }
                if low[at] == number[at] {
                    let from = stack.iter().rposition(|other| *other == node).unwrap_or_default();
                    let mut group = stack.split_off(from);
                    for member in &group {
                        on_stack[*member as usize] = false;
                    }
                    if group.len() > 1 {
                        group.sort_unstable();
                        groups.push(group);
                    }
                }
                if let Some((parent, _)) = work.last() {
                    let parent = *parent as usize;
                    low[parent] = low[parent].min(low[at]);
                }
            }
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_for_the_shortest_cycle_ends_after_a_number_of_steps() {
        let nodes = 3_000;
        let mut graph = Graph::default();
        (0..nodes).for_each(|node| graph.add(node, (node + 1) % nodes, Edge::WriteWrite));
        // A short cycle at the end of the one through all.
        graph.add(nodes - 1, nodes - 2, Edge::WriteWrite);
        graph.close(nodes as usize);
        let group: Vec<u32> = (0..nodes).collect();
        let shortest = |mut left: usize| {
            let cycle = graph.shortest(&group, WRITES, WRITES, &mut left).unwrap();
            (cycle.len(), left)
        };
        // A search from one edge takes about 3,000 steps: the first is completed, and no other is begun.
        let (length, left) = shortest(100);
        assert_eq!((length, left), (3_000, 0));
        let (length, left) = shortest(100_000);
        assert!(length == 3_000 && (45_000..=50_000).contains(&left), "{length} {left}");
        assert_eq!(shortest(usize::MAX).0, 2);
        assert_eq!(graph.cycles().len(), 1);
    }
}
