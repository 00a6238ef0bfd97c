//! Why a design is proposed, or is not: in words, what the rounds told of it and nothing that they did not. Two designs that could
//! not be told apart are never called faster or slower, and a figure over fewer rounds says so.

use super::advice::{Answered, TableAdvice};
use super::looks::Gain;
use crate::words::{bytes, counted};

impl TableAdvice {
    /// How the answer for the table came about, in sentences.
    pub fn reason(&self) -> String {
        let others = self.designs.len() - 1;
        match self.answered() {
            _ if others == 0 => "Nothing was compared: no other design was measured.".to_owned(),
            Answered::Keep => "Every other design was told apart as slower.".to_owned(),
            Answered::Unknown => "No other design was told apart from it as faster.".to_owned(),
            Answered::Change => {
                let alike = self.told.class.len() - 1;
                let rest = if alike == 0 {
                    "All others were told apart as slower than it or than one that is slower than it.".to_owned()
                } else {
                    let sure = self.told.class.iter().filter(|design| self.told.is_faster(**design, 0)).count();
                    let choice = if sure == 1 {
                        "only the proposed one was told apart from the present design as faster".to_owned()
                    } else {
                        format!(
                            "of the {sure} that were told apart from the present design as faster, none has fewer bytes"
                        )
                    };
                    let others = if alike == 1 {
                        "1 other design was not told apart from it in speed".to_owned()
                    } else {
                        format!("{alike} other designs were not told apart from it in speed")
                    };
                    format!("{others}; {choice}.")
                };
                format!("It was told apart from the present design as faster. {rest}")
            }
        }
    }

    /// What a design is, in a word or two.
    pub fn standing(&self, design: usize) -> &'static str {
        match design {
            0 => "present",
            design if design == self.proposed => "proposed",
            design if self.told.class.contains(&design) => "not told apart",
            _ => "slower",
        }
    }

    /// What the rounds told of a design; `name` says how others are called.
    pub fn why(&self, design: usize, name: impl Fn(usize) -> String) -> String {
        let told = &self.told;
        if let Some(slower) = told.slower_than(design, self.proposed) {
            let rounds = counted(slower.rounds as u64, "round");
            let by = if slower.than == 0 { "the present design".to_owned() } else { name(slower.than) };
            return format!("slower than {by}: {} in {rounds} of both", slower.gain);
        }
        if self.designs.len() == 1 {
            return "no other design was measured".to_owned();
        }
        match design {
            0 => "no other was told apart from it as faster".to_owned(),
            design if design == self.proposed => "told apart from the present design as faster".to_owned(),
            _ if self.proposed == 0 => {
                // Its own interval may lie on one side of 1: of many pairs, one does so by chance.
                let excludes = |gain: &Gain| gain.interval.low > 1.0 || gain.interval.high < 1.0;
                let corrected = told.gain(design).as_ref().is_some_and(excludes);
                let by = if corrected { ", by Holm's correction over all pairs" } else { "" };
                format!("not told apart from the present design in speed{by}")
            }
            design if told.is_faster(design, 0) => {
                let [own, proposed] = [design, self.proposed].map(|design| self.designs[design].bytes);
                let size = if own > proposed {
                    format!("takes {}", bytes(own as u64))
                } else {
                    "is of the same size".to_owned()
                };
                format!("not told apart from the proposed design in speed; it {size}")
            }
            _ => "told apart neither from the proposed design in speed nor from the present one".to_owned(),
        }
    }
}
