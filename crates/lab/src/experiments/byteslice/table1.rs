//! Table 1: how likely a scan can stop early, counted on random codes and held against the paper's formulas (1) and (2).

use crate::experiment::{
    Bench, Claim, Context, Design, Error, Expectation, Experiment, Factor, Figure, FigureKind, Judgement, Laps,
    Subject, Trial, Variant, levels,
};
use crate::random::Random;

/// The experiment.
pub static TABLE1: Experiment = Experiment {
    name: "byteslice.table1",
    title: "Probability of early stop",
    place: "ByteSlice paper, sections 2.2 and 3.1.1, table 1",
    about: "Segments of random 32-bit codes against random constants: the part of them in which no code equals the constant in its t most \
            significant bits, and the bits that are looked at until then, looking every 4 bits (VBP) or 8 (ByteSlice).",
    uses: &[],
    design,
    derive: None,
    figures: &[Figure {
        title: "Segments decided after t bits",
        kind: FigureKind::Lines,
        x: "bits",
        series: "packing",
        panels: &["segment"],
        metric: "found_part",
        axis: "part of all segments",
        only: &[],
    }],
    claims: &CLAIMS,
};

const WIDTH: u32 = 32;
/// Level of the bits of results over all t.
const EXPECTED: &str = "expected";
const SEGMENTS: [u32; 2] = [256, 512];

/// A packing as far as early stop goes.
#[derive(Debug, Clone, Copy)]
struct PackingKind {
    name: &'static str,
    /// Bits between two looks.
    step: u32,
    /// Bits of a segment that one code takes: a segment of S bits holds S / this codes.
    share: u32,
}

const KINDS: [PackingKind; 2] =
    [PackingKind { name: "vbp", step: 4, share: 1 }, PackingKind { name: "byteslice", step: 8, share: 8 }];

/// The paper's probability that a segment is decided after t bits.
fn formula(kind: PackingKind, segment: u32, bits: u32) -> f64 {
    (1.0 - 0.5_f64.powi(bits as i32)).powi((segment / kind.share) as i32)
}

fn design(_: &Bench) -> Result<Design, Error> {
    let mut trials = Vec::new();
    for segment in SEGMENTS {
        trials.push(Trial {
            name: format!("segments of {segment} bits"),
            setup: Box::new(move |bench| Ok(KINDS.iter().flat_map(|kind| variants(bench, *kind, segment)).collect())),
        });
    }
    let bits = (1..=WIDTH / 4).map(|look| (look * 4).to_string()).chain([EXPECTED.to_string()]);
    let factors = vec![
        Factor::new("segment", "bits", SEGMENTS),
        Factor::new("bits", "", bits),
        Factor::new("packing", "", KINDS.map(|kind| kind.name)),
    ];
    Ok(Design { factors, trials, ..Design::default() })
}

fn variants(bench: &Bench, kind: PackingKind, segment: u32) -> Vec<Variant> {
    let segments = if bench.is_tiny() { 200 } else { 4_000 };
    let looks = (1..=WIDTH / kind.step).map(|look| Some(look * kind.step));
    let variant = |bits: Option<u32>| {
        let level = bits.map_or(EXPECTED.to_string(), |bits| bits.to_string());
        let part = format!("{} {segment} {level}", kind.name);
        Variant {
            levels: levels(&[("segment", &segment), ("bits", &level), ("packing", &kind.name)]),
            units: (segments as f64, "segment"),
            facts: bits.map(|bits| ("formula", formula(kind, segment, bits))).into_iter().collect(),
            subject: Box::new(SegmentCount {
                random: Random::named(bench.settings.seed, &part),
                kind,
                codes: segment / kind.share,
                bits,
                segments,
                decided: 0,
                looked: 0,
                last: (0, Vec::new()),
            }),
        }
    };
    looks.chain([None]).map(variant).collect()
}

/// Counts segments, each run on new random codes.
struct SegmentCount {
    random: Random,
    kind: PackingKind,
    /// Codes of a segment.
    codes: u32,
    /// The bits after which a segment must be decided; `None` counts the bits until it is.
    bits: Option<u32>,
    segments: usize,
    /// Segments decided in time, and bits looked at in all.
    decided: usize,
    looked: u64,
    /// The last segment of the run, for the oracle: its constant and its codes.
    last: (u32, Vec<u32>),
}

impl SegmentCount {
    /// Bits looked at until no code of the segment equals the constant in all of them, or all bits. That is the longest
    /// beginning that a code shares with the constant, and one bit more, rounded up to the next look.
    fn bits_until_decided(&self, shared: u32) -> u32 {
        (shared + 1).next_multiple_of(self.kind.step).min(WIDTH)
    }

    /// Whether a segment whose codes share so many bits with the constant is decided after `bits`.
    fn is_decided(shared: u32, bits: u32) -> bool {
        shared < bits
    }
}

impl Subject for SegmentCount {
    fn prepare(&mut self) {
        (self.decided, self.looked) = (0, 0);
        self.last.1.clear();
    }

    fn run(&mut self, _: &mut Laps) {
        let mut codes = Vec::with_capacity(self.codes as usize);
        let (mut decided, mut looked) = (0, 0);
        let mut constant = 0;
        for _ in 0..self.segments {
            constant = self.random.bits() as u32;
            codes.clear();
            codes.extend((0..self.codes).map(|_| self.random.bits() as u32));
            let shared = codes.iter().map(|code| (code ^ constant).leading_zeros()).max().unwrap_or(0);
            decided += usize::from(self.bits.is_some_and(|bits| Self::is_decided(shared, bits)));
            looked += u64::from(self.bits_until_decided(shared));
        }
        (self.decided, self.looked, self.last) = (decided, looked, (constant, codes));
    }

    /// The last segment again, bit by bit, as a scan would.
    fn check(&mut self) -> Result<(), String> {
        let (constant, codes) = &self.last;
        let open = |bits: u32| codes.iter().any(|code| code >> (WIDTH - bits) == constant >> (WIDTH - bits));
        let slow = (1..=WIDTH / self.kind.step).map(|look| look * self.kind.step).find(|bits| !open(*bits));
        let shared = codes.iter().map(|code| (code ^ constant).leading_zeros()).max().unwrap_or(0);
        let fast = self.bits_until_decided(shared);
        if slow.unwrap_or(WIDTH) != fast {
            return Err(format!("a segment is decided after {slow:?} bits, and was counted as decided after {fast}"));
        }
        match self.bits {
            Some(bits) if open(bits) == Self::is_decided(shared, bits) => {
                Err(format!("wrongly counted at {bits} bits"))
            }
            _ => Ok(()),
        }
    }

    fn values(&self) -> Vec<(&'static str, f64)> {
        let segments = self.segments as f64;
        match self.bits {
            Some(_) => vec![("found_part", self.decided as f64 / segments)],
            None => vec![("found_bits", self.looked as f64 / segments)],
        }
    }
}

/// The counted parts agree with a formula.
fn agrees(context: &Context<'_>, name: &str) -> Judgement {
    let mut all = Vec::new();
    for point in context.findings.points.iter().filter(|point| point.level("packing") == name) {
        if let (Some(part), Some(formula)) = (point.summary("found_part"), point.facts.get("formula")) {
            let label = format!("S = {}, t = {}", point.level("segment"), point.level("bits"));
            all.push(Expectation::near(label, part, *formula, 0.005));
        }
    }
    Expectation::judge(all)
}

/// The bits looked at are those of the paper's text, for one size of segments.
fn looked(context: &Context<'_>, segment: &str, expected: [(&str, f64); 2]) -> Judgement {
    let all = expected.into_iter().filter_map(|(packing, bits)| {
        let at = [("segment", segment), ("bits", EXPECTED), ("packing", packing)];
        let found = context.findings.select(&at).next()?.summary("found_bits")?;
        Some(Expectation::near(format!("{packing}, S = {segment}"), found, bits, 0.03))
    });
    Expectation::judge(all.collect())
}

const NEAR: Option<&str> = Some("agree: the interval lies within 0.005 of the formula");
const NEAR_BITS: Option<&str> = Some("the interval lies within 0.03 bits of the paper's number");

static CLAIMS: [Claim; 4] = [
    Claim {
        id: "table1.vbp",
        text: "In VBP a segment of S codes is decided after t bits with probability (1 - 2^-t)^S",
        place: "formula (1)",
        ours: NEAR,
        judge: |context| agrees(context, "vbp"),
    },
    Claim {
        id: "table1.byteslice",
        text: "In ByteSlice a segment of S/8 codes is decided after t bits with probability (1 - 2^-t)^(S/8)",
        place: "formula (2)",
        ours: NEAR,
        judge: |context| agrees(context, "byteslice"),
    },
    Claim {
        id: "table1.bits",
        text: "With S = 256 a scan looks at 8.94 bits of a code in ByteSlice and at 10.79 in VBP",
        place: "table 1",
        ours: NEAR_BITS,
        judge: |context| looked(context, "256", [("byteslice", 8.94), ("vbp", 10.79)]),
    },
    Claim {
        id: "table1.bits_512",
        text: "With S = 512 a scan looks at 9.78 bits of a code in ByteSlice and at 11.96 in VBP",
        place: "section 3.1.1",
        ours: NEAR_BITS,
        judge: |context| looked(context, "512", [("byteslice", 9.78), ("vbp", 11.96)]),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_give_the_papers_table() {
        let [vbp, byteslice] = KINDS;
        for (kind, bits, expected) in [
            (vbp, 4, 0.0000000668),
            (vbp, 8, 0.3671597549),
            (vbp, 12, 0.9394058945),
            (vbp, 16, 0.9961013398),
            (byteslice, 8, 0.8822809129),
            (byteslice, 16, 0.9995118342),
            (byteslice, 24, 0.9999980927),
        ] {
            let found = formula(kind, 256, bits);
            assert!((found - expected).abs() < 1e-10, "{found}, not {expected}: {} after {bits} bits", kind.name);
        }
    }
}
