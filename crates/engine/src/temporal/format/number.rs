//! Numbers by a template: `999,990.00`, `FM0000`, `S9.99`.

/// A number as its sign and digits.
pub(super) struct NumberDigits {
    pub(super) is_negative: bool,
    /// Before the point, without zeros in front.
    pub(super) whole: String,
    /// Behind it, as many as the template has.
    pub(super) fraction: String,
}

/// A template.
#[derive(Debug, Default)]
pub(super) struct Template {
    marks: Vec<Mark>,
    is_bare: bool,
    /// Places of digits before the point and behind it.
    before: usize,
    pub(super) behind: usize,
    has_sign: bool,
    in_angles: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Mark {
    /// `9`: a digit, or a blank in front of the first; `0`: a digit always.
    Digit {
        is_zero: bool,
    },
    Point,
    Comma,
    /// `S`, which stands at an end.
    Sign,
    /// `MI`, `PL` and `SG`.
    Minus,
    Plus,
    Either,
    Literal(char),
}

impl Template {
    /// Reads a template; what is wrong with it otherwise.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut template = Self::default();
        let mut rest = text;
        let mut seen_point = false;
        while let Some(letter) = rest.chars().next() {
            let starts = |mark: &str| rest.get(..mark.len()).is_some_and(|start| start.eq_ignore_ascii_case(mark));
            let two = ["FM", "MI", "PL", "SG", "PR", "TH", "RN", "EE"].into_iter().find(|mark| starts(mark));
            if let Some(mark) = two {
                rest = &rest[2..];
                match mark {
                    "FM" => template.is_bare = true,
                    "MI" => template.marks.push(Mark::Minus),
                    "PL" => template.marks.push(Mark::Plus),
                    "SG" => template.marks.push(Mark::Either),
                    "PR" => template.in_angles = true,
                    other => return Err(format!("to_char: the pattern {other} of numbers is not offered")),
                }
                template.has_sign |= matches!(mark, "MI" | "SG" | "PR");
                continue;
            }
            rest = &rest[letter.len_utf8()..];
            match letter.to_ascii_uppercase() {
                '9' | '0' => {
                    template.marks.push(Mark::Digit { is_zero: letter == '0' });
                    *(if seen_point { &mut template.behind } else { &mut template.before }) += 1;
                }
                '.' | 'D' if !seen_point => {
                    seen_point = true;
                    template.marks.push(Mark::Point);
                }
                '.' | 'D' => return Err(format!("to_char: '{text}' has two points")),
                ',' | 'G' => template.marks.push(Mark::Comma),
                'S' => {
                    template.has_sign = true;
                    template.marks.push(Mark::Sign);
                }
                'V' | 'L' => return Err(format!("to_char: the pattern {letter} of numbers is not offered")),
                '"' => {
                    let mut letters = rest.char_indices();
                    let mut end = rest.len();
                    while let Some((at, letter)) = letters.next() {
                        let shown = match letter {
                            '"' => {
                                end = at + 1;
                                break;
                            }
                            '\\' => letters.next().map(|(_, escaped)| escaped),
                            letter => Some(letter),
                        };
                        template.marks.extend(shown.map(Mark::Literal));
                    }
                    rest = &rest[end..];
                }
                // A quote behind a backslash is one of the text.
                '\\' if rest.starts_with('"') => {
                    template.marks.push(Mark::Literal('"'));
                    rest = &rest[1..];
                }
                _ => template.marks.push(Mark::Literal(letter)),
            }
        }
        Ok(template)
    }

    /// The number by the template.
    pub(super) fn write(&self, number: &NumberDigits) -> String {
        let overflows = number.whole.len() > self.before;
        // Places from the right that have a digit, and from which on zeros fill.
        let first_zero = self.marks.iter().position(|mark| *mark == Mark::Digit { is_zero: true });
        let digits_from = self.before.saturating_sub(number.whole.len());
        let is_zero = number.whole.is_empty() && number.fraction.bytes().all(|digit| digit == b'0');
        let shows_zero = number.whole.is_empty() && (self.behind == 0 || (self.is_bare && is_zero));
        let mut text = String::new();
        let (mut place, mut behind, mut seen_point) = (0, 0, false);
        let (mut began, mut numbers) = (None, None);
        for (at, mark) in self.marks.iter().enumerate() {
            if matches!(mark, Mark::Digit { .. } | Mark::Point | Mark::Comma) {
                numbers = numbers.or(Some(text.len()));
            }
            match mark {
                Mark::Digit { .. } if seen_point => {
                    let digit = number.fraction.as_bytes().get(behind).copied().unwrap_or(b'0');
                    let is_needed = !self.is_bare || self.is_needed(number, behind, at);
                    if is_needed || overflows {
                        text.push(if overflows { '#' } else { char::from(digit) });
                    }
                    behind += 1;
                }
                Mark::Digit { .. } => {
                    let filled = first_zero.is_some_and(|zero| at >= zero);
                    let is_last = place + 1 == self.before;
                    if overflows || place >= digits_from || filled || (shows_zero && is_last) {
                        began = began.or(Some(text.len()));
                        let digit = place.checked_sub(digits_from).and_then(|at| number.whole.as_bytes().get(at));
                        text.push(if overflows { '#' } else { char::from(digit.copied().unwrap_or(b'0')) });
                    } else if !self.is_bare {
                        text.push(' ');
                    }
                    place += 1;
                }
                Mark::Point => {
                    seen_point = true;
                    began = began.or(Some(text.len()));
                    // With nothing behind it, and nothing filled up, there is none.
                    text.push_str(if self.is_bare && self.behind == 0 { "" } else { "." });
                }
                Mark::Comma if began.is_some() => text.push(','),
                Mark::Comma if !self.is_bare => text.push(' '),
                Mark::Comma => {}
                Mark::Minus if number.is_negative => text.push('-'),
                Mark::Plus if !number.is_negative => text.push('+'),
                Mark::Minus | Mark::Plus if !self.is_bare => text.push(' '),
                Mark::Minus | Mark::Plus => {}
                Mark::Either => text.push(if number.is_negative { '-' } else { '+' }),
                Mark::Sign if at > 0 => text.push(if number.is_negative { '-' } else { '+' }),
                Mark::Sign => {}
                Mark::Literal(letter) => text.push(*letter),
            }
        }
        match numbers {
            Some(numbers) => self.signed(text, numbers, began.unwrap_or(0), number.is_negative),
            // A template of texts alone.
            None if !self.has_sign => text,
            None => self.signed(text, 0, 0, number.is_negative),
        }
    }

    /// Whether a digit behind the point is shown though nothing is filled up: those of the number, and up to the last 0.
    fn is_needed(&self, number: &NumberDigits, behind: usize, at: usize) -> bool {
        let any = number.fraction.as_bytes().iter().skip(behind).any(|digit| *digit != b'0');
        any || self.marks[at..].contains(&Mark::Digit { is_zero: true })
    }

    /// The sign, which stands in front of the first digit; the blank for that of a positive number in front of all places.
    fn signed(&self, mut text: String, numbers: usize, began: usize, is_negative: bool) -> String {
        let leads = self.marks.first() == Some(&Mark::Sign);
        if self.in_angles {
            let (open, close) = if is_negative {
                ("<", ">")
            } else if self.is_bare {
                ("", "")
            } else {
                (" ", " ")
            };
            text.insert_str(began, open);
            text.push_str(close);
        } else if leads {
            text.insert(began, if is_negative { '-' } else { '+' });
        } else if !self.has_sign {
            if is_negative {
                text.insert(began, '-');
            } else if !self.is_bare {
                text.insert(numbers, ' ');
            }
        }
        text
    }
}
