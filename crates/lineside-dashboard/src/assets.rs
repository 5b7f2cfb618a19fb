//! The style and the scripts of the pages. They are part of the program; nothing is loaded from elsewhere.

/// A file that the pages name.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Asset {
    /// Its name, below the folder of assets.
    pub name: &'static str,
    /// What it is.
    pub content_type: &'static str,
    /// Its text.
    pub text: &'static str,
}

const CSS: &str = "text/css; charset=utf-8";
const PICTURE: &str = "image/svg+xml";
const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! assets {
    ($($name:literal $kind:ident),* $(,)?) => {
        [$( Asset { name: $name, content_type: $kind, text: include_str!(concat!("../assets/", $name)) } ),*]
    };
}

/// All of them.
pub const ASSETS: [Asset; 5] =
    assets!["style.css" CSS, "app.js" SCRIPT, "fleet.js" SCRIPT, "timeline.js" SCRIPT, "mark.svg" PICTURE];

/// The one with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.name == name)
}
