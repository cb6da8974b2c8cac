// Explanations of technical terms, by term. The object is empty here; pages/ui/components/bundle.py fills it from
// assets/glossary.toml.

/** @type {Record<string, string>} */
export const GLOSSARY = {};
