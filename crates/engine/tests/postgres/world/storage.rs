//! Where the records of a table lie, and how a world's statements are run: what must not change any answer.

use crate::generate::Features;
use crate::generator::Generator;
use crate::levels::{EXECUTIONS, IOS, LAYOUTS, PAGES};

/// Where the records of a table lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Storage {
    /// In the delta.
    Delta,
    /// In segments.
    Segments,
    /// In segments of which records are deleted or changed, and in a delta behind them.
    Changed,
    /// In heap pages.
    Pages,
}

impl Storage {
    const ALL: [Self; 4] = [Self::Delta, Self::Segments, Self::Changed, Self::Pages];

    /// The feature of statements that read such a table.
    pub fn feature(self) -> &'static str {
        match self {
            Self::Delta => "tables in deltas",
            Self::Segments => "tables in segments",
            Self::Changed => "tables with deleted records",
            Self::Pages => "tables in heap pages",
        }
    }

    /// One of those that are on, or the delta.
    pub fn random(random: &mut Generator, features: &Features) -> Self {
        let on: Vec<Self> = Self::ALL.into_iter().filter(|storage| features.has(storage.feature())).collect();
        if on.is_empty() { Self::Delta } else { *random.pick(&on) }
    }

    /// A layout for such a table.
    pub fn layout(self, random: &mut Generator) -> &'static str {
        let layouts: &[&'static str] = match self {
            Self::Pages => PAGES,
            Self::Delta if random.chance(50) => &LAYOUTS[..1],
            _ => LAYOUTS,
        };
        layouts[random.between(0, layouts.len() as i64 - 1) as usize]
    }
}

/// How statements are run. The text of a stored world says it, so that instruction sets that a machine may lack have no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    pub execution: &'static str,
    pub threads: i64,
    pub io: &'static str,
    pub isa: &'static str,
    /// Megabytes that the database may hold.
    pub memory: Option<i64>,
}

impl Way {
    /// What is so unless somebody says otherwise.
    pub const PLAIN: Self = Self { execution: "auto", threads: 2, io: "cached", isa: "auto", memory: None };

    pub fn random(random: &mut Generator, features: &Features) -> Self {
        let mut way = Self::PLAIN;
        if features.has("executions") {
            way.execution = *random.pick(EXECUTIONS);
            way.threads = *random.pick(&[1, 2, 7]);
            way.io = *random.pick(IOS);
            way.isa = *random.pick(&["auto", "auto", "scalar"]);
        }
        if features.has("memory limits") && random.chance(10) {
            way.memory = Some(*random.pick(&[2, 4, 8, 16]));
        }
        way
    }

    /// The settings, in words that PostgreSQL takes too.
    pub fn script(self) -> Vec<String> {
        let set = |name: &str, value: &str| format!("SET gingham.{name} = '{value}'");
        let mut script = vec![set("threads", &self.threads.to_string())];
        script.extend((self.execution != Self::PLAIN.execution).then(|| set("execution", self.execution)));
        script.extend((self.io != Self::PLAIN.io).then(|| set("io", self.io)));
        script.extend((self.isa != Self::PLAIN.isa).then(|| set("isa", self.isa)));
        script.extend(self.memory.map(|megabytes| set("memory_limit", &format!("{megabytes}MB"))));
        script
    }

    /// These settings with one less, each.
    pub fn plainer(self) -> Vec<Self> {
        let plain = Self::PLAIN;
        let all = [
            plain,
            Self { execution: plain.execution, ..self },
            Self { threads: plain.threads, ..self },
            Self { io: plain.io, ..self },
            Self { isa: plain.isa, ..self },
            Self { memory: None, ..self },
        ];
        all.into_iter().filter(|way| *way != self).collect()
    }
}
