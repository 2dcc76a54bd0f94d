//! What a value is.

use super::args::text;
use crate::function::Function;
use crate::function::Type::{Any, String as Str};
use crate::walk::deep_equal;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("typeOf", &[Any], |_, a| Ok(a[0].type_name().into())),
    Function::new("typeIs", &[Str, Any], |_, a| {
        Ok((text(a, 0)[..] == *a[1].type_name().as_bytes()).into())
    }),
    Function::new("typeIsLike", &[Str, Any], |_, a| {
        let (wanted, got) = (text(a, 0), a[1].type_name());
        let like = wanted[..] == *got.as_bytes()
            || got
                .strip_prefix('*')
                .is_some_and(|g| wanted[..] == *g.as_bytes());
        Ok(like.into())
    }),
    Function::new("kindOf", &[Any], |_, a| Ok(a[0].kind().into())),
    Function::new("kindIs", &[Str, Any], |_, a| {
        Ok((text(a, 0)[..] == *a[1].kind().as_bytes()).into())
    }),
    Function::new("deepEqual", &[Any, Any], |_, a| {
        Ok(deep_equal(&a[0], &a[1]).into())
    }),
];
