// The names of every bundle: each is defined once, every name that is used is defined, and nothing is defined that no
// bundle uses. tsc cannot tell: to it, the files of all bundles share one scope.

import { Linter } from "eslint";
import globals from "globals";

import { BUNDLES, scriptsOf } from "./bundles.js";

const RULES = {
  "no-undef": "error", "no-redeclare": "error", "no-unused-vars": ["error", { args: "none", ignoreRestSiblings: true }],
};
const linter = new Linter();
const problems = new Set();
const unused = new Map();

for (const [bundle, { component }] of Object.entries(BUNDLES)) {
  const files = scriptsOf(bundle);
  const mounted = component ? `export default mount(${component});` : "";
  const joined = [...files.map(({ source }) => source), mounted].join("\n");
  const messages = linter.verify(joined, {
    languageOptions: { sourceType: "module", globals: { ...globals.browser, GLOSSARY: "readonly" } },
    linterOptions: { reportUnusedDisableDirectives: "off" }, rules: RULES,
  });
  const unusedHere = new Set();
  for (const { ruleId, message, line } of messages) {
    if (ruleId === "no-unused-vars") unusedHere.add(message.match(/'(.*?)'/)[1]);
    else problems.add(`${bundle}: ${message} ${joined.split("\n")[line - 1].trim()}`);
  }
  for (const { name, source } of files) {
    for (const [, defined] of source.matchAll(/^(?:async )?(?:const|let|class|function) (\w+)/gm)) {
      const key = `${name}: ${defined}`;
      unused.set(key, (unused.get(key) ?? true) && unusedHere.has(defined));
    }
  }
}
for (const [name, nowhere] of unused) if (nowhere) problems.add(`${name} is used by no bundle`);
for (const problem of problems) console.error(problem);
process.exitCode = problems.size ? 1 : 0;
