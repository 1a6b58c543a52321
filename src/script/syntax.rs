//! Allows reserved words of Rhai as properties after a dot and as keys of maps.
//!
//! Fields of Kubernetes objects have names such as `default`, `in`, `match`, `new`, `case` and `for`.

use std::cell::RefCell;

use rhai::{Engine, Identifier, Token, is_valid_identifier};

thread_local! {
    static TOKENS: RefCell<TokenContext> = const { RefCell::new(TokenContext::new()) };
}

/// The state of the tokenizer hook: the kind of position that the next token has.
struct TokenContext {
    /// The next token is the name of a property.
    dot: bool,
    /// The next token is a map's key, if the innermost bracket is a map's.
    key: bool,
    /// Open brackets, true for a map's.
    open: Vec<bool>,
}

impl TokenContext {
    const fn new() -> Self {
        Self {
            dot: false,
            key: false,
            open: Vec::new(),
        }
    }

    fn names_a_property(&self) -> bool {
        self.dot || (self.key && self.open.last() == Some(&true))
    }

    fn take(&mut self, token: &Token) {
        self.dot = matches!(token, Token::Period | Token::Elvis);
        self.key = matches!(token, Token::MapStart | Token::Comma);
        match token {
            Token::MapStart => self.open.push(true),
            Token::LeftBrace | Token::LeftParen | Token::LeftBracket | Token::QuestionBracket => {
                self.open.push(false);
            }
            Token::RightBrace | Token::RightParen | Token::RightBracket => {
                self.open.pop();
            }
            _ => {}
        }
    }
}

/// Resets the state at the beginning of a file.
pub(super) fn begin() {
    TOKENS.set(TokenContext::new());
}

/// Sets the hook of an engine.
pub(super) fn hook(engine: &mut Engine) {
    #[expect(deprecated, reason = "not deprecated but marked as free to change")]
    engine.on_parse_token(|token, _, _| {
        TOKENS.with_borrow_mut(|seen| {
            let token = if seen.names_a_property() {
                as_name(token)
            } else {
                token
            };
            seen.take(&token);
            token
        })
    });
}

fn as_name(token: Token) -> Token {
    let name: Identifier = match &token {
        Token::Reserved(word) => word.as_str().into(),
        keyword if keyword.is_literal() => keyword.literal_syntax().into(),
        _ => return token,
    };
    if is_valid_identifier(&name) {
        Token::Identifier(Box::new(name))
    } else {
        token
    }
}
