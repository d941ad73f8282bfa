// The rules for the page of the studio: ESLint's recommended ones and a few for plain code.
import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  {
    files: ["src/phaselabel/studio/static/*.js"],
    languageOptions: { globals: { ...globals.browser, ...globals.sharedWorker } },
    rules: {
      complexity: ["error", 12],
      "consistent-return": "error",
      curly: ["error", "multi-line"],
      eqeqeq: ["error", "always", { null: "ignore" }],
      "max-lines": ["error", { max: 450, skipBlankLines: true }],
      "no-console": "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: "Build elements with el(): text from data must stay text." },
        { property: "outerHTML", message: "Build elements with el(): text from data must stay text." },
        {
          property: "insertAdjacentHTML",
          message: "Build elements with el(): text from data must stay text.",
        },
      ],
      "no-shadow": "error",
      "no-unused-vars": ["error", { args: "after-used" }],
      "no-use-before-define": ["error", { functions: false, variables: false }],
      "no-var": "error",
      "prefer-const": "error",
    },
  },
];
