//! The runtime of Rust harnesses: makes values from choices, encodes what a run did, and runs every input
//! state in a process of its own. Linked with each program; knows nothing of any one function.
#![feature(fn_ptr_trait, specialization)]
#![allow(incomplete_features)]

mod dump;
mod encoding;
mod functions;
mod make;
mod make_std;
mod pointers;
mod run;
mod serve;
mod system;
mod world;

pub use dump::{drained, Dump, Given};
pub use encoding::Encoding;
pub use make::{make_bytes, make_string, register, Make};
pub use pointers::{boxed, lent};
pub use run::{blocked, formatted, Run};
pub use serve::{serve, Program};
pub use world::{answer, hit, made_default, is_deep, opaque_id, unmakeable, unreached, Pools, Source, NO_POOLS};

/// A type that depends on another only by name: parameters of what stands in must be used.
pub trait Tied<T> {
    type Out;
}

impl<T, P> Tied<T> for P {
    type Out = P;
}

/// What every type that stands in can do, trait by trait: it is as its encoding is.
#[macro_export]
macro_rules! stand_in_type {
    ($parameters:tt $kind:ty, $($name:ident)*) => {
        $($crate::stand_in_trait!($name $parameters $kind);)*
    };
    ($parameters:tt $kind:ty) => {
        $crate::stand_in_type!($parameters $kind, Debug Display PartialEq Eq PartialOrd Ord Hash Default);
    };
}

/// One of those traits, for types that are given another by their file.
#[macro_export]
macro_rules! stand_in_trait {
    (Debug [$($parameter:tt)*] $kind:ty) => {
        impl<$($parameter)*> ::std::fmt::Debug for $kind {
            fn fmt(&self, out: &mut ::std::fmt::Formatter) -> ::std::fmt::Result {
                out.write_str(&$crate::Dump::encoded(self).source())
            }
        }
    };
    (Display [$($parameter:tt)*] $kind:ty) => {
        impl<$($parameter)*> ::std::fmt::Display for $kind {
            fn fmt(&self, out: &mut ::std::fmt::Formatter) -> ::std::fmt::Result {
                out.write_str(&$crate::Dump::encoded(self).source())
            }
        }
    };
    (PartialEq [$($parameter:tt)*] $kind:ty) => {
        impl<$($parameter)*> ::std::cmp::PartialEq for $kind {
            fn eq(&self, other: &Self) -> bool {
                $crate::Dump::encoded(self).json() == $crate::Dump::encoded(other).json()
            }
        }
    };
    (Eq [$($parameter:tt)*] $kind:ty) => {
        impl<$($parameter)*> ::std::cmp::Eq for $kind {}
    };
    (PartialOrd [$($parameter:tt)*] $kind:ty) => {
        impl<$($parameter)*> ::std::cmp::PartialOrd for $kind {
            fn partial_cmp(&self, other: &Self) -> ::std::option::Option<::std::cmp::Ordering> {
                ::std::option::Option::Some(::std::cmp::Ord::cmp(
                    &$crate::Dump::encoded(self).json(), &$crate::Dump::encoded(other).json(),
                ))
            }
        }
    };
    (Ord [$($parameter:tt)*] $kind:ty) => {
        impl<$($parameter)*> ::std::cmp::Ord for $kind {
            fn cmp(&self, other: &Self) -> ::std::cmp::Ordering {
                ::std::cmp::Ord::cmp(&$crate::Dump::encoded(self).json(), &$crate::Dump::encoded(other).json())
            }
        }
    };
    (Hash [$($parameter:tt)*] $kind:ty) => {
        impl<$($parameter)*> ::std::hash::Hash for $kind {
            fn hash<H: ::std::hash::Hasher>(&self, state: &mut H) {
                ::std::hash::Hash::hash(&$crate::Dump::encoded(self).json(), state)
            }
        }
    };
    (Default [$($parameter:tt)*] $kind:ty) => {
        impl<$($parameter)*> ::std::default::Default for $kind {
            fn default() -> Self {
                $crate::made_default::<Self>()
            }
        }
    };
}
