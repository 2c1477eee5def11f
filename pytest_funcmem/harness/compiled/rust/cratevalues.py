"""Values of types of crates that can neither be read from texts nor are of use as defaults."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CRATE_VALUES", "CrateValue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CrateValue:
    """How values of one type are made.

    Attributes:
        crate: The crate that the type is of.
        names: Words that tell that a program may need one.
        type: The type.
        made: An expression that makes one from ``source``.
    """

    crate: str
    names: frozenset[str]
    type: str
    made: str


_JSON = """match source.below(6) {
    0 => serde_json::Value::Null,
    1 => serde_json::Value::Bool(funcmem::Make::make(source)),
    2 => serde_json::Value::from(<i64 as funcmem::Make>::make(source)),
    3 => serde_json::Value::from(funcmem::make_string(source)),
    4 => serde_json::Value::Array(funcmem::Make::make(source)),
    _ => serde_json::Value::Object(
        <Vec<(String, serde_json::Value)> as funcmem::Make>::make(source).into_iter().collect()),
}"""
_COLOURED = """{
    struct Coloured(Vec<u8>);
    impl std::io::Write for Coloured {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> { self.0.write(bytes) }
        fn flush(&mut self) -> std::io::Result<()> { Ok(()) }
    }
    impl termcolor::WriteColor for Coloured {
        fn supports_color(&self) -> bool { true }
        fn set_color(&mut self, spec: &termcolor::ColorSpec) -> std::io::Result<()> {
            self.0.extend(format!("<{:?}>", spec).into_bytes());
            Ok(())
        }
        fn reset(&mut self) -> std::io::Result<()> { self.0.extend(b"<reset>"); Ok(()) }
    }
    impl funcmem::Dump for Coloured {
        fn dump(&self, depth: usize) -> funcmem::Encoding { funcmem::Dump::dump(&self.0, depth) }
    }
    let _ = source;
    funcmem::lent(Coloured(Vec::new()))
}"""
_LEVELS = "log::Level::Error, log::Level::Warn, log::Level::Info, log::Level::Debug, log::Level::Trace"
_RECORD = """{
    let text = match source.below(3) {
        0 => format_args!("made"),
        1 => format_args!("x = 1"),
        _ => format_args!(""),
    };
    log::Record::builder().args(text).level(funcmem::Make::make(source)).target(funcmem::Make::make(source))
        .module_path(funcmem::Make::make(source)).file(funcmem::Make::make(source))
        .line(funcmem::Make::make(source)).build()
}"""


def _value(crate: str, names: str, kind: str, made: str) -> CrateValue:
    return CrateValue(crate=crate, names=frozenset(names.split()), type=kind, made=" ".join(made.split()))


CRATE_VALUES = (
    _value("termcolor", "WriteColor", "&'static mut dyn termcolor::WriteColor", _COLOURED),
    _value("serde_json", "Value Deserializer", "serde_json::Value", _JSON),
    _value(
        "rand",
        "StdRng",
        "rand::rngs::StdRng",
        "<rand::rngs::StdRng as rand::SeedableRng>::seed_from_u64(funcmem::opaque_id(source))",
    ),
    _value(
        "chrono",
        "DateTime",
        "chrono::DateTime<chrono::Utc>",
        "chrono::TimeZone::timestamp_opt(&chrono::Utc, "
        "<i32 as funcmem::Make>::make(source) as i64 * 977, 0).unwrap()",
    ),
    _value("log", "Level Record Metadata", "log::Level", f"[{_LEVELS}][source.below(5) as usize]"),
    _value(
        "log",
        "LevelFilter",
        "log::LevelFilter",
        f"match source.below(6) {{ 5 => log::LevelFilter::Off, level => [{_LEVELS}][level as usize]"
        ".to_level_filter() }",
    ),
    _value("log", "Record", "log::Record<'static>", _RECORD),
    _value(
        "log",
        "Metadata",
        "log::Metadata<'static>",
        "log::Metadata::builder().level(funcmem::Make::make(source))"
        ".target(funcmem::Make::make(source)).build()",
    ),
)
