import js from "@eslint/js";
import globals from "globals";

// attention_atlas/browser/scripts.py joins modules by removing their imports, and parses only `import { name }`.
const unread = ["ImportDefaultSpecifier", "ImportNamespaceSpecifier", "ImportExpression", "ExportAllDeclaration", "ExportSpecifier"];

export default [
  // Third-party libraries are unmodified, so ESLint ignores them.
  { ignores: ["assets/vendor/"] },
  js.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "array-callback-return": "error",
      "eqeqeq": "error",
      "no-unused-vars": ["error", { ignoreRestSiblings: true }],
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": ["error", { destructuring: "all" }],
    },
  },
  {
    files: ["assets/**/*.js"],
    languageOptions: { globals: globals.browser },
    rules: { "no-restricted-syntax": ["error", ...unread] },
  },
  {
    files: ["benchmarks/*.js"],
    languageOptions: { sourceType: "script", globals: globals.browser },
    // The script uses names that it defines on `window`.
    rules: { "no-undef": "off" },
  },
  { files: ["tests/javascript/*.js"], languageOptions: { globals: globals.node } },
];
