//! Hooks in the front matter of skills and agents of Claude Code, which are not imported (CL-13): where they stand, so
//! that they can be listed. What they say is not read.

use std::path::PathBuf;

use lineside_core::{Layer, Origin};
use lineside_files::read_if_there;

use super::plugins;
use crate::dialect::{CONFIGURATION as LONGEST, Places};
use crate::frontmatter;
use crate::hosts::import::within;
use crate::yaml::{self, Content, UnknownEscapes};

/// How many skills or agents of one folder are looked at.
const MOST: usize = 1_000;

/// Finds the hooks in the front matter of the skills and agents of Claude Code, of the user, the project and the named
/// plugins. Gives the file and the line of each `hooks`, folder after folder in byte order; a file that cannot be read
/// or whose front matter is broken has none.
#[must_use]
pub fn hooks_in_front_matter(places: &Places) -> Vec<Origin> {
    let mut folders: Vec<(PathBuf, Layer)> = Vec::new();
    folders.extend(places.home().map(|home| (home.join(".claude"), Layer::User)));
    folders.push((places.work_dir().join(".claude"), Layer::Project));
    folders.extend(plugins::named(places).into_iter().map(|(_, folder)| (folder, Layer::User)));
    let files = folders.into_iter().flat_map(|(folder, layer)| {
        let skills =
            within(&folder.join("skills")).into_iter().take(MOST).map(|skill| skill.join("SKILL.md"));
        let agents = within(&folder.join("agents")).into_iter().take(MOST);
        let agents = agents.filter(|file| file.extension().is_some_and(|extension| extension == "md"));
        skills.chain(agents).map(move |file| (file, layer)).collect::<Vec<_>>()
    });
    let found = files.filter_map(|(file, layer)| {
        let text = read_if_there(&file, places.boundary(layer), LONGEST)?.ok()?;
        let line = line_of_hooks(&String::from_utf8(text).ok()?)?;
        Some(Origin::new(file, line))
    });
    found.collect()
}

/// The line of `hooks` in the front matter of a text, where they are not empty.
fn line_of_hooks(text: &str) -> Option<u32> {
    let (front_matter, first_line) = frontmatter::split(text).ok()?;
    let document = yaml::read(front_matter, first_line, UnknownEscapes::Keep).ok()?;
    let Content::Mapping(fields) = document.root.content else { return None };
    let (name, _) = fields.iter().find(|(name, hooks)| name.label() == "hooks" && !hooks.is_null())?;
    Some(name.line)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::dialect::Trust;
    use crate::hosts::name_plugin;

    #[test]
    fn cl_13_hooks_in_the_front_matter_of_skills_and_agents_are_found() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let environment = BTreeMap::from([("HOME".to_owned(), home.to_str().unwrap().to_owned())]);
        let project = home.join("project");
        let places = Places {
            environment,
            project_root: Some(project.clone()),
            cwd: project.clone(),
            trust: Trust::Granted,
        };
        assert_eq!(hooks_in_front_matter(&places), []);
        let write = |file: &Path, text: &str| {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        let hooks = "---\nname: a\nhooks:\n  PreToolUse:\n    - hooks: []\n---\nhooks:\n";
        let (user, agent) =
            (home.join(".claude/skills/b/SKILL.md"), project.join(".claude/agents/reviewer.md"));
        let of_plugin = home.join("plugins/fmt/skills/x/SKILL.md");
        write(&user, hooks);
        write(&agent, &hooks.replace("name: a\n", "name: a\r\n\r\n"));
        write(&of_plugin, hooks);
        write(&home.join("plugins/fmt/hooks/hooks.json"), "{}");
        write(&home.join(".claude/skills/a/SKILL.md"), "---\nname: a\n---\nhooks: {}\n");
        write(&home.join(".claude/skills/c/SKILL.md"), "---\nname: a\nhooks:\n---\n");
        write(&home.join(".claude/skills/d/SKILL.md"), "---\nhooks: [\n---\n");
        write(&project.join(".claude/agents/notes.txt"), hooks);
        assert_eq!(hooks_in_front_matter(&places), [Origin::new(&user, 3), Origin::new(&agent, 4)]);
        assert!(name_plugin(&places, &home.join("plugins/fmt"), true).unwrap());
        assert_eq!(hooks_in_front_matter(&places)[2..], [Origin::new(&of_plugin, 3)]);
    }
}
