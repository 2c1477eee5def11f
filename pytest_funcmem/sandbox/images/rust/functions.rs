//! Functions that answer for themselves, in whatever holds a function.

use std::rc::Rc;
use std::sync::Arc;

use crate::dump::Dump;
use crate::make::Make;
use crate::world::{answer, Source};

fn leaked<'f, F>(function: F) -> &'f mut F {
    Box::leak(Box::new(function))
}

macro_rules! functions {
    ($([$($generic:tt)*] ($($value:ident: $kind:ty),*);)*) => {$(
        functions!(made [$($generic)*] ($($value: $kind),*) Box::new, Box<dyn Fn($($kind),*) -> R>);
        functions!(made [$($generic)*] ($($value: $kind),*) Box::new, Box<dyn Fn($($kind),*) -> R + Send>);
        functions!(made [$($generic)*] ($($value: $kind),*) Box::new, Box<dyn Fn($($kind),*) -> R + Send + Sync>);
        functions!(made [$($generic)*] ($($value: $kind),*) Box::new, Box<dyn FnMut($($kind),*) -> R>);
        functions!(made [$($generic)*] ($($value: $kind),*) Box::new, Box<dyn FnMut($($kind),*) -> R + Send>);
        functions!(made [$($generic)*] ($($value: $kind),*) Box::new, Box<dyn FnOnce($($kind),*) -> R>);
        functions!(made [$($generic)*] ($($value: $kind),*) Box::new, Box<dyn FnOnce($($kind),*) -> R + Send>);
        functions!(made [$($generic)*] ($($value: $kind),*) Rc::new, Rc<dyn Fn($($kind),*) -> R>);
        functions!(made [$($generic)*] ($($value: $kind),*) Arc::new, Arc<dyn Fn($($kind),*) -> R + Send + Sync>);
        functions!(made [, 'f $($generic)*] ($($value: $kind),*) leaked, &'f dyn Fn($($kind),*) -> R);
        functions!(made [, 'f $($generic)*] ($($value: $kind),*) leaked, &'f mut dyn FnMut($($kind),*) -> R);
        impl<R: 'static $($generic)*> Make for fn($($kind),*) -> R {
            default fn make(_source: &mut Source) -> Self {
                |$($value: $kind),*| answer("function", vec![$($value.encoded()),*])
            }
        }
    )*};
    (made [$($generic:tt)*] ($($value:ident: $kind:ty),*) $new:expr, $whole:ty) => {
        functions!(impl [$($generic)*] $whole, $new(|$($value: $kind),*| answer("function", vec![$($value.encoded()),*])));
    };
    (impl [, 'f $($generic:tt)*] $whole:ty, $made:expr) => {
        impl<'f, R: 'static $($generic)*> Make for $whole {
            default fn make(_source: &mut Source) -> Self { $made }
        }
    };
    (impl [$($generic:tt)*] $whole:ty, $made:expr) => {
        impl<R: 'static $($generic)*> Make for $whole {
            default fn make(_source: &mut Source) -> Self { $made }
        }
    };
}

functions! {
    [] ();
    [, A: 'static] (a: A);
    [, A: 'static + ?Sized] (a: &A);
    [, A: 'static + ?Sized] (a: &mut A);
    [, A: 'static, B: 'static] (a: A, b: B);
    [, A: 'static + ?Sized, B: 'static] (a: &A, b: B);
    [, A: 'static, B: 'static + ?Sized] (a: A, b: &B);
    [, A: 'static + ?Sized, B: 'static] (a: &mut A, b: B);
    [, A: 'static + ?Sized, B: 'static + ?Sized] (a: &A, b: &B);
    [, A: 'static + ?Sized, B: 'static + ?Sized] (a: &mut A, b: &B);
    [, A: 'static, B: 'static, C: 'static] (a: A, b: B, c: C);
}
