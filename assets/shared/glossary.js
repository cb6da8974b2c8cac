// Explanations of technical terms; empty here, because pages/ui/components/bundle.py fills it from
// assets/glossary.toml.

/** @type {Record<string, string>} */
export const GLOSSARY = {};
