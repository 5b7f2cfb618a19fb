//! The reading of the layers of hooks: of all of them together, or of a project alone, whose hooks stand in a scope below.

use lineside_core::Layer;
use lineside_dialects::{
    DIALECTS, Dialect, Loaded, Places, Trust, Watched, keep_above, namesakes, tighten, unmet, within,
};

use crate::assembly::Assembly;

/// What the patterns in the files of one project may compile to together, or those of one format in the files of a user,
/// in bytes; and those of a project that is not trusted, whose hooks are only shown. A hook beyond that is broken.
const MOST_COMPILED: usize = 64 << 20;
const MOST_SHOWN: usize = 1 << 20;

impl Assembly {
    /// What the patterns of all hooks that are read at these places may compile to, in bytes.
    pub(crate) fn most_compiled(&self, places: &Places) -> usize {
        match (&self.project, places.trust) {
            (Some(_), Trust::Granted) => MOST_COMPILED,
            (Some(_), Trust::Withheld) => MOST_SHOWN,
            (None, _) => MOST_COMPILED.saturating_mul(DIALECTS.len()),
        }
    }

    /// The hooks of the machine, of the user and of a project together, those of the layers above tightened and otherwise as
    /// they are without the project.
    pub(crate) fn of_all_layers(&self, dialect: &dyn Dialect, places: &Places) -> Loaded {
        // What stands in a project takes nothing from the hooks of other formats.
        within(MOST_COMPILED, || self.of_layers(dialect, places)).0
    }

    fn of_layers(&self, dialect: &dyn Dialect, places: &Places) -> Loaded {
        let mut loaded = dialect.load_managed(&self.managed, places);
        let mut found = dialect.load(places);
        let is_there =
            |watched: &Watched| watched.path.starts_with(places.work_dir()) && watched.path.exists();
        if places.trust == Trust::Granted && dialect.watched(places).iter().any(is_there) {
            let without = dialect.load(&Places { trust: Trust::Withheld, ..places.clone() });
            keep_above(dialect, &mut found, without);
        }
        loaded.append(found);
        loaded.diagnostics.extend(unmet(&loaded.tightenings, &loaded.hooks));
        if dialect.has_given_names() {
            loaded.diagnostics.extend(namesakes(&loaded.hooks, &loaded.hooks));
        }
        tighten(&mut loaded);
        loaded
    }

    /// The hooks of a project alone, with what it asks of those of the layers above.
    pub(crate) fn of_one_project(&self, dialect: &dyn Dialect, places: &Places) -> Loaded {
        let mut loaded = dialect.load_of_project(places);
        if loaded.tightenings.is_empty() && !dialect.has_given_names() {
            return loaded;
        }
        let mut above = dialect.load_managed(&self.managed, places);
        above.append(dialect.load(&Places { trust: Trust::Withheld, ..places.clone() }));
        above.hooks.retain(|found| found.hook.layer < Layer::Project);
        loaded.diagnostics.extend(unmet(&loaded.tightenings, &above.hooks));
        loaded.diagnostics.extend(namesakes(&loaded.hooks, &above.hooks));
        loaded
    }
}
