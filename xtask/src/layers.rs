//! Does the crate graph keep to the layers?
//!
//! The tables below are the architecture as data. A new crate gets one row in [`CRATES`]; a rule
//! about other people's crates is one row in [`PLACES`].

use crate::{
    metadata::{Dependency, Kind, Package, workspace_packages},
    usage,
    violation::{Violation, report},
};

/// Where a crate stands. A crate may use every lower layer and nothing beside or above itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Layer {
    /// Row 0: pure rules, with no I/O, clock, randomness or async.
    Core,
    /// Row 1: traits, and other people's messages as types.
    Seam,
    /// Row 2: clients, backends and the recorder.
    Adapter,
    /// Row 3: the binary.
    Program,
    /// Beside the rows: uses anything, and is used by dev-dependencies only.
    TestsOnly,
    /// Beside the rows: uses no crate of ours, and none uses it.
    Tool,
}

/// Every crate of the workspace and its layer.
const CRATES: &[(&str, Layer)] = &[
    ("receipts", Layer::Core),
    ("verbatim", Layer::Core),
    ("opencode-wire", Layer::Seam),
    ("harness", Layer::Seam),
    ("store", Layer::Seam),
    ("opencode-client", Layer::Adapter),
    ("recorder", Layer::Adapter),
    ("store-sqlite", Layer::Adapter),
    ("turnbook", Layer::Program),
    ("testkit", Layer::TestsOnly),
    ("xtask", Layer::Tool),
];

/// A rule about who of us may use somebody else's crate outside dev-dependencies.
///
/// In a list of names, `*-client` stands for every crate with that ending.
struct Place {
    /// The other people's crate.
    package: &'static str,
    /// Who may use it.
    users: Users,
    /// Why, as a person reads it who broke the rule.
    reason: &'static str,
}

/// Who of us may use somebody else's crate.
enum Users {
    /// These crates, and no other.
    Only(&'static [&'static str]),
    /// Every crate but these.
    AllBut(&'static [&'static str]),
}

/// The rules about other people's crates.
const PLACES: &[Place] = &[
    Place {
        package: "rusqlite",
        users: Users::Only(&["store-sqlite", "opencode-client"]),
        reason: "only the SQLite backend and the reader of OpenCode's database speak SQL",
    },
    Place {
        package: "reqwest",
        users: Users::Only(&["*-client", "turnbook"]),
        reason: "only clients talk to a network",
    },
    Place {
        package: "tokio",
        users: Users::Only(&["*-client", "recorder", "turnbook", "testkit"]),
        reason: "the core and the seams have no executor",
    },
    Place {
        package: "axum",
        users: Users::Only(&["testkit"]),
        reason: "the program serves nothing; the scripted model does",
    },
    Place {
        package: "anyhow",
        users: Users::Only(&["turnbook", "xtask"]),
        reason: "a library's errors are named by what its caller can do next",
    },
    Place {
        package: "serde_json",
        users: Users::AllBut(&["receipts"]),
        reason: "the core keeps other people's JSON as opaque bytes",
    },
];

/// Checks the workspace as it is declared now.
///
/// # Errors
///
/// When an edge breaks a rule, after printing every one that does.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<()> {
    match arguments {
        [] => report("layers", &check(&workspace_packages()?)),
        other => Err(usage("layers", other)),
    }
}

/// Finds every edge that breaks a rule, and every crate without a layer.
fn check(packages: &[Package]) -> Vec<Violation> {
    let mut found = Vec::new();
    for (name, _) in CRATES {
        if !packages.iter().any(|package| package.name == *name) {
            found.push(Violation {
                place: (*name).to_owned(),
                what: "stands in the layer table and is no crate of the workspace".to_owned(),
            });
        }
    }
    for package in packages {
        let Some(layer) = layer_of(&package.name) else {
            found.push(Violation {
                place: package.name.clone(),
                what: "has no row in the layer table of xtask".to_owned(),
            });
            continue;
        };
        let broken = package.dependencies.iter().filter_map(|dependency| {
            let what = broken_layer(layer, dependency)
                .or_else(|| broken_place(&package.name, dependency))?;
            Some(Violation { place: package.name.clone(), what })
        });
        found.extend(broken);
    }
    found
}

/// The layer of one of our crates, or `None` for somebody else's.
fn layer_of(name: &str) -> Option<Layer> {
    CRATES.iter().find(|(known, _)| *known == name).map(|(_, layer)| *layer)
}

/// Says how an edge between two crates of ours breaks the order of the layers.
fn broken_layer(from: Layer, dependency: &Dependency) -> Option<String> {
    let to = layer_of(&dependency.name)?;
    let allowed = match (&dependency.kind, from, to) {
        (_, Layer::Tool, _) | (_, _, Layer::Tool) => false,
        (Kind::Dev, _, _) => true,
        (Kind::Normal | Kind::Build | Kind::Unknown(_), _, Layer::TestsOnly) => false,
        (Kind::Normal | Kind::Build | Kind::Unknown(_), _, _) => to < from,
    };
    (!allowed)
        .then(|| format!("is {from:?} and must not use `{}`, which is {to:?}", dependency.name))
}

/// Says how an edge to somebody else's crate breaks a rule about it.
fn broken_place(user: &str, dependency: &Dependency) -> Option<String> {
    let place = PLACES.iter().find(|place| place.package == dependency.name)?;
    let allowed = match (&dependency.kind, &place.users) {
        (Kind::Dev, _) => true,
        (_, Users::Only(names)) => names.iter().any(|name| stands_for(name, user)),
        (_, Users::AllBut(names)) => !names.iter().any(|name| stands_for(name, user)),
    };
    (!allowed).then(|| format!("must not use `{}`: {}", place.package, place.reason))
}

/// Says whether a name of a list stands for this crate.
fn stands_for(name: &str, crate_name: &str) -> bool {
    match name.strip_prefix('*') {
        Some(ending) => crate_name.ends_with(ending),
        None => name == crate_name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_keeps_to_its_layers() {
        let packages = workspace_packages().expect("cargo describes this workspace");
        let found: Vec<String> = check(&packages).iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "{}", found.join("\n"));
    }

    #[test]
    fn an_edge_may_only_go_down() {
        assert_eq!(normal("recorder", "store"), None);
        assert_eq!(
            normal("store", "recorder").as_deref(),
            Some("is Seam and must not use `recorder`, which is Adapter")
        );
        assert_eq!(
            normal("recorder", "store-sqlite").as_deref(),
            Some("is Adapter and must not use `store-sqlite`, which is Adapter")
        );
    }

    #[test]
    fn the_testkit_is_for_tests() {
        assert_eq!(edge("recorder", "testkit", Kind::Dev), None);
        assert_eq!(
            normal("turnbook", "testkit").as_deref(),
            Some("is Program and must not use `testkit`, which is TestsOnly")
        );
    }

    #[test]
    fn a_kind_of_dependency_that_is_not_known_is_held_to_the_layers() {
        assert_eq!(
            edge("store", "store-sqlite", Kind::Unknown("artifact".to_owned())).as_deref(),
            Some("is Seam and must not use `store-sqlite`, which is Adapter")
        );
    }

    #[test]
    fn other_peoples_crates_have_their_places() {
        assert_eq!(normal("opencode-client", "reqwest"), None);
        assert_eq!(normal("opencode-wire", "serde_json"), None);
        assert_eq!(edge("receipts", "serde_json", Kind::Dev), None);
        assert_eq!(
            normal("receipts", "serde_json").as_deref(),
            Some("must not use `serde_json`: the core keeps other people's JSON as opaque bytes")
        );
        assert_eq!(
            normal("recorder", "rusqlite").as_deref(),
            Some(
                "must not use `rusqlite`: only the SQLite backend and the reader of OpenCode's \
                 database speak SQL"
            )
        );
    }

    #[test]
    fn the_table_and_the_workspace_name_the_same_crates() {
        let mut packages: Vec<Package> = CRATES.iter().map(|(name, _)| package(name)).collect();
        assert_eq!(check(&packages), []);
        packages.remove(0);
        packages.push(package("stranger"));
        assert_eq!(
            check(&packages),
            [
                Violation {
                    place: "receipts".to_owned(),
                    what: "stands in the layer table and is no crate of the workspace".to_owned(),
                },
                Violation {
                    place: "stranger".to_owned(),
                    what: "has no row in the layer table of xtask".to_owned(),
                },
            ]
        );
    }

    fn package(name: &str) -> Package {
        Package { name: name.to_owned(), dependencies: Vec::new() }
    }

    fn normal(from: &str, to: &str) -> Option<String> {
        edge(from, to, Kind::Normal)
    }

    /// What is wrong with a workspace of all our crates and this one edge.
    fn edge(from: &str, to: &str, kind: Kind) -> Option<String> {
        let mut packages: Vec<Package> = CRATES.iter().map(|(name, _)| package(name)).collect();
        let user =
            packages.iter_mut().find(|package| package.name == from).expect("a crate of ours");
        user.dependencies.push(Dependency { name: to.to_owned(), kind });
        let found = check(&packages);
        assert!(found.len() <= 1, "one edge breaks at most one rule: {found:?}");
        found.into_iter().next().map(|violation| violation.what)
    }
}
