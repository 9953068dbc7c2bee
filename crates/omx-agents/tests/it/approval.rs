//! Whether a path lies inside the agent's folder: a path that only looks inside
//! must never count as inside (conductor.md, "What agents may do").

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use omx_agents::approval::{reach, reach_of_all};
use omx_kernel::approval::TargetLocation;
use tempfile::TempDir;

/// A folder `work` beside a folder `other`, each with a file.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(TempDir::new().unwrap());
        for folder in ["work", "work/deep", "other", "workshop"] {
            fs::create_dir(place.at(folder)).unwrap();
        }
        for file in ["work/file", "work/deep/file", "other/file"] {
            fs::write(place.at(file), "").unwrap();
        }
        place
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }

    fn link(&self, name: &str, target: impl AsRef<Path>) {
        symlink(target, self.at(name)).unwrap();
    }

    #[track_caller]
    fn is(&self, path: impl AsRef<Path>, expected: TargetLocation) {
        let path = path.as_ref();
        assert_eq!(reach(&self.at("work"), path), expected, "{}", path.display());
    }
}

#[test]
fn the_folder_and_everything_below_it_is_inside() {
    let place = Place::new();
    for path in ["", ".", "./", "file", "./file", "deep/file", "deep/../file", "new", "a/b/c"] {
        place.is(path, TargetLocation::Inside);
    }
    for path in ["work", "work/", "work/file", "work/deep", "work/new/newer", "other/../work/x"] {
        place.is(place.at(path), TargetLocation::Inside);
    }
}

#[test]
fn paths_above_or_beside_are_outside() {
    let place = Place::new();
    for path in ["..", "../other", "../other/file", "deep/../..", "../workshop", "/", "/etc/passwd"]
    {
        place.is(path, TargetLocation::Outside);
    }
    // It only shares a prefix with the folder's name.
    place.is(place.at("workshop/file"), TargetLocation::Outside);
    // Folders that do not exist yet do not hide later components.
    place.is("new/../../other/file", TargetLocation::Outside);
    place.is("new/../file", TargetLocation::Inside);
}

#[test]
fn a_link_counts_where_it_points() {
    let place = Place::new();
    place.link("work/in", "deep");
    place.link("work/out", place.at("other"));
    place.link("work/out_file", "../other/file");
    place.link("other/back", place.at("work/deep"));
    for path in ["in", "in/file", "in/new", "in/../file"] {
        place.is(path, TargetLocation::Inside);
    }
    for path in ["out", "out/file", "out/new", "out_file", "in/../out/new"] {
        place.is(path, TargetLocation::Outside);
    }
    // `..` after a link is the parent of its target.
    place.is("out/../work/file", TargetLocation::Inside);
    place.is("in/../../other/file", TargetLocation::Outside);
    place.is("../other/back/file", TargetLocation::Inside);
    place.is(place.at("other/back"), TargetLocation::Inside);
}

#[test]
fn the_folder_may_itself_be_reached_by_a_link() {
    let place = Place::new();
    place.link("alias", "work");
    for path in [PathBuf::from("file"), place.at("alias/new"), place.at("work/file")] {
        assert_eq!(reach(&place.at("alias"), &path), TargetLocation::Inside, "{}", path.display());
    }
    let beside = place.at("alias/../other");
    assert_eq!(reach(&place.at("alias"), &beside), TargetLocation::Outside);
}

/// Writing to a dangling link creates the file it points to.
#[test]
fn a_dangling_link_counts_where_the_file_would_be() {
    let place = Place::new();
    place.link("work/inner", "deep/new");
    place.link("work/up", "../other/new");
    place.link("work/up_folder", "../fresh");
    place.link("work/far", place.at("other/new"));
    place.link("work/deep/twice", "../up");
    place.link("work/round", "deep/../../work/new");
    for path in ["inner", "inner/below", "round"] {
        place.is(path, TargetLocation::Inside);
    }
    for path in ["up", "up/below", "up_folder/new", "far", "far/../new", "deep/twice"] {
        place.is(path, TargetLocation::Outside);
    }
}

#[test]
fn link_loops_are_outside() {
    let place = Place::new();
    place.link("work/a", "b");
    place.link("work/b", "a");
    place.link("work/self", "self");
    for path in ["a", "a/file", "self", "self/../file"] {
        place.is(path, TargetLocation::Outside);
    }
}

#[test]
fn nothing_is_inside_a_missing_folder() {
    let place = Place::new();
    let missing = place.at("missing");
    for path in ["", "file", "missing"] {
        assert_eq!(reach(&missing, Path::new(path)), TargetLocation::Outside);
    }
    assert_eq!(reach(&missing, &missing.join("file")), TargetLocation::Outside);
}

#[test]
fn one_path_outside_or_no_path_at_all_is_outside() {
    let place = Place::new();
    let all = |paths: &[&str]| reach_of_all(&place.at("work"), paths.iter().map(Path::new));
    assert_eq!(all(&["file", "new"]), TargetLocation::Inside);
    assert_eq!(all(&["file", "../other/file", "new"]), TargetLocation::Outside);
    assert_eq!(all(&["file", "../other"]), TargetLocation::Outside);
    assert_eq!(all(&[]), TargetLocation::Outside);
}
