// What `openclaw/plugin-sdk`, `…/core` and `…/plugin-entry` export (OC-19).
'use strict';

exports.definePluginEntry = function definePluginEntry(definition) {
  return definition;
};

exports.emptyPluginConfigSchema = function emptyPluginConfigSchema() {
  return { type: 'object', additionalProperties: false, properties: {} };
};
