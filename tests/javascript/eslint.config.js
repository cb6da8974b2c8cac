import js from "@eslint/js";
import globals from "globals";

export default [
  // The libraries of others, as they come.
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
    languageOptions: { sourceType: "script", globals: globals.browser },
    // The files of a bundle share one scope; scopes.js checks the names in it, bundle by bundle.
    rules: { "no-undef": "off", "no-unused-vars": ["error", { vars: "local", ignoreRestSiblings: true }] },
  },
  {
    files: ["benchmarks/*.js"],
    languageOptions: { sourceType: "script", globals: globals.browser },
    // What it puts on `window`.
    rules: { "no-undef": "off" },
  },
  { files: ["tests/javascript/*.js"], languageOptions: { globals: globals.node } },
];
