//! Keys that heed the margin of a statement's lines, and Up and Down, which search what was typed before.

use crate::prompt::history::Search;
use crate::prompt::input::is_complete;
use crate::prompt::margin;
use rustyline::{
    At, CharSearch, Cmd, ConditionalEventHandler, Event, EventContext, KeyCode, KeyEvent, Modifiers, Movement,
    RepeatCount, Word,
};

/// What a key does.
#[derive(Debug, Clone, Copy)]
enum Key {
    Enter,
    Up,
    Down,
    Home,
    Left,
    Right,
    Backspace,
    Delete,
}

/// A key, which the line editor asks what it does.
#[derive(Debug)]
pub struct Handler {
    key: Key,
    search: Search,
}

/// The keys, each with what it does.
pub fn handlers(search: &Search) -> Vec<(KeyEvent, Handler)> {
    let key = |code| KeyEvent(code, Modifiers::NONE);
    let all = [
        (key(KeyCode::Enter), Key::Enter),
        (KeyEvent::ctrl('J'), Key::Enter),
        (key(KeyCode::Up), Key::Up),
        (KeyEvent::ctrl('P'), Key::Up),
        (key(KeyCode::Down), Key::Down),
        (KeyEvent::ctrl('N'), Key::Down),
        (key(KeyCode::Home), Key::Home),
        (KeyEvent::ctrl('A'), Key::Home),
        (key(KeyCode::Left), Key::Left),
        (KeyEvent::ctrl('B'), Key::Left),
        (key(KeyCode::Right), Key::Right),
        (KeyEvent::ctrl('F'), Key::Right),
        (key(KeyCode::Backspace), Key::Backspace),
        (KeyEvent::ctrl('H'), Key::Backspace),
        (key(KeyCode::Delete), Key::Delete),
    ];
    all.into_iter().map(|(event, key)| (event, Handler { key, search: search.clone() })).collect()
}

impl ConditionalEventHandler for Handler {
    /// None is what the key does anyhow.
    fn handle(&self, _: &Event, times: RepeatCount, _: bool, context: &EventContext<'_>) -> Option<Cmd> {
        let (line, at) = (context.line(), context.pos());
        if times != 1 {
            return None;
        }
        self.command(line, at)
    }
}

impl Handler {
    fn command(&self, line: &str, at: usize) -> Option<Cmd> {
        let (before, behind) = line.split_at(at);
        let begins = before.rfind('\n').map_or(0, |at| at + 1);
        let (margin, inner) = margin::split(&before[begins..]);
        // Whether nothing but the margin stands before the cursor, and nothing behind it on its line.
        let (is_first, is_last) = (begins > 0 && inner.is_empty(), behind.starts_with('\n'));
        // Counts of characters are not heeded here, so that places are searched for.
        let line_before = Movement::ViCharSearch(1, CharSearch::Backward('\n'));
        let next_line = match behind.trim().is_empty() {
            true => Movement::EndOfBuffer,
            false => Movement::ForwardWord(1, At::Start, Word::Big),
        };
        match self.key {
            Key::Enter if is_complete(&margin::without(line)) => None,
            Key::Enter => Some(Cmd::Insert(1, margin::line_break())),
            Key::Up if begins == 0 => self.search(line, at),
            Key::Down if !behind.contains('\n') => self.search(line, at),
            Key::Up | Key::Down => None,
            Key::Home if is_first => Some(Cmd::Noop),
            Key::Home if !margin.is_empty() => {
                Some(Cmd::Move(Movement::ViCharSearch(1, CharSearch::BackwardAfter(margin::MARK))))
            }
            Key::Left if is_first => Some(Cmd::Move(line_before)),
            Key::Backspace if is_first => Some(Cmd::Kill(line_before)),
            Key::Right if is_last => Some(Cmd::Move(next_line)),
            Key::Delete if is_last => Some(Cmd::Kill(next_line)),
            Key::Home | Key::Left | Key::Backspace | Key::Right | Key::Delete => None,
        }
    }

    /// Up or Down, which leave the text: the history has what is found.
    fn search(&self, line: &str, at: usize) -> Option<Cmd> {
        self.search.goes_on_from(line, at);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(key: Key, line: &str, at: usize) -> Option<Cmd> {
        Handler { key, search: Search::default() }.command(line, at)
    }

    #[test]
    fn enter_goes_on_until_the_statement_is_whole() {
        assert_eq!(command(Key::Enter, "select 1;", 3), None);
        assert_eq!(command(Key::Enter, ".help", 5), None);
        assert_eq!(command(Key::Enter, &margin::with("select\n1;"), 3), None);
        assert_eq!(command(Key::Enter, "select 1", 8), Some(Cmd::Insert(1, margin::line_break())));
    }

    #[test]
    fn keys_pass_over_the_margin() {
        let line = margin::with("ab\ncd");
        let c = line.len() - 2;
        let before = || Movement::ViCharSearch(1, CharSearch::Backward('\n'));
        let next = || Movement::ForwardWord(1, At::Start, Word::Big);
        assert_eq!(command(Key::Left, &line, c), Some(Cmd::Move(before())));
        assert_eq!(command(Key::Backspace, &line, c), Some(Cmd::Kill(before())));
        assert_eq!(command(Key::Right, &line, 2), Some(Cmd::Move(next())));
        assert_eq!(command(Key::Delete, &line, 2), Some(Cmd::Kill(next())));
        assert_eq!(command(Key::Right, "ab\n", 2), Some(Cmd::Move(Movement::EndOfBuffer)));
        assert_eq!(command(Key::Home, &line, c), Some(Cmd::Noop));
        let home = Movement::ViCharSearch(1, CharSearch::BackwardAfter(margin::MARK));
        assert_eq!(command(Key::Home, &line, c + 1), Some(Cmd::Move(home)));
        for (key, at) in [(Key::Left, 1), (Key::Backspace, c + 1), (Key::Right, 1), (Key::Home, 1), (Key::Up, c)] {
            assert_eq!(command(key, &line, at), None);
        }
    }
}
