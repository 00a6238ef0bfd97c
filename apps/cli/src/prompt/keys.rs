//! Keys that heed the margin of a statement's lines, and Up and Down, which search what was typed before.

use crate::prompt::history::Search;
use crate::prompt::input::is_complete;
use crate::prompt::margin::{self, Place, distance};
use rustyline::{
    Cmd, ConditionalEventHandler, Event, EventContext, KeyCode, KeyEvent, Modifiers, Movement, RepeatCount,
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
        let place = Place::new(line, at);
        let moved = |to: usize| match to < at {
            true => Cmd::Move(Movement::BackwardChar(distance(line, to, at))),
            false => Cmd::Move(Movement::ForwardChar(distance(line, at, to))),
        };
        match self.key {
            Key::Enter if is_complete(&margin::without(line)) => None,
            Key::Enter => Some(Cmd::Insert(1, margin::line_break())),
            Key::Up | Key::Down => {
                let to = if matches!(self.key, Key::Up) { place.up() } else { place.down() };
                if to.is_none() {
                    self.search.goes_on_from(line, at);
                }
                to.map(moved)
            }
            Key::Home => Some(moved(place.home())),
            Key::Left => place.left().map(moved),
            Key::Right => place.right().map(moved),
            Key::Backspace => place.left().map(|to| Cmd::Kill(Movement::BackwardChar(distance(line, to, at)))),
            Key::Delete => place.right().map(|to| Cmd::Kill(Movement::ForwardChar(distance(line, at, to)))),
        }
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
        let (c, width) = (line.len() - 2, 10);
        assert_eq!(command(Key::Left, &line, c), Some(Cmd::Move(Movement::BackwardChar(width))));
        assert_eq!(command(Key::Backspace, &line, c), Some(Cmd::Kill(Movement::BackwardChar(width))));
        assert_eq!(command(Key::Right, &line, 2), Some(Cmd::Move(Movement::ForwardChar(width))));
        assert_eq!(command(Key::Delete, &line, 2), Some(Cmd::Kill(Movement::ForwardChar(width))));
        assert_eq!(command(Key::Home, &line, c + 1), Some(Cmd::Move(Movement::BackwardChar(1))));
        assert_eq!(command(Key::Backspace, &line, c + 1), None);
        assert_eq!(command(Key::Up, &line, c + 1), Some(Cmd::Move(Movement::BackwardChar(width + 1))));
        assert_eq!(command(Key::Up, &line, 1), None);
    }
}
