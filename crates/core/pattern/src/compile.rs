//! Nodes to a program.

use crate::Node;
use crate::run::{Program, Step};

/// Compiles a pattern; separators are what `*` and `?` stop at.
pub(crate) fn compile(nodes: &[Node], separators: &[char]) -> Program {
    let mut steps = Vec::new();
    sequence(nodes, separators, &mut steps);
    steps.push(Step::Done);
    Program { steps }
}

fn sequence(nodes: &[Node], separators: &[char], steps: &mut Vec<Step>) {
    for node in nodes {
        match node {
            Node::Char(c) => steps.push(Step::Char(*c)),
            Node::One => steps.push(any_but(separators)),
            Node::Many => repeat(any_but(separators), steps),
            Node::All => repeat(any_but(&[]), steps),
            Node::Class { not, ranges } => steps.push(Step::Class {
                not: *not,
                ranges: ranges.clone(),
            }),
            Node::Either(ways) => either(ways, separators, steps),
        }
    }
}

fn any_but(separators: &[char]) -> Step {
    Step::Class {
        not: true,
        ranges: separators.iter().map(|c| (*c, *c)).collect(),
    }
}

fn repeat(step: Step, steps: &mut Vec<Step>) {
    let start = steps.len();
    steps.push(Step::Fork(start + 1, start + 3));
    steps.push(step);
    steps.push(Step::Go(start));
}

fn either(ways: &[Vec<Node>], separators: &[char], steps: &mut Vec<Step>) {
    let mut ends = Vec::new();
    for (index, way) in ways.iter().enumerate() {
        let fork = steps.len();
        let last = index + 1 == ways.len();
        if !last {
            steps.push(Step::Go(0));
        }
        sequence(way, separators, steps);
        if !last {
            ends.push(steps.len());
            steps.push(Step::Go(0));
            steps[fork] = Step::Fork(fork + 1, steps.len());
        }
    }
    let end = steps.len();
    for at in ends {
        steps[at] = Step::Go(end);
    }
}
