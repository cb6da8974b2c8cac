// The logit lens: a line for each layer with the prediction that this layer makes (nostalgebraist 2020).

import { quote } from "../shared/direction.js";
import { element } from "../shared/element.js";
import { term } from "../shared/terms.js";
import { probabilityOf, roughProbability } from "./translation.js";
/** @import { Translation } from "./translation.js" */

export function logitLens() {
  const body = element("tbody");
  const head = element("th", { scope: "col", class: "number" });
  const part = element("section", { class: "layers" }, element("h4", {}, term("Layer by layer", "logit lens")),
    element("table", {}, element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "after"),
      element("th", { scope: "col" }, "top guesses"), head)), body),
    element("p", { class: "note" },
      "Each layer's output through the final norm and the output layer; the last is the model's own word."));
  /** @type {(translation: Translation, step: number) => void} */
  const reflect = (translation, step) => {
    const { layers, out, id } = translation.steps[step];
    head.textContent = `P(${quote(out)})`;
    body.replaceChildren(...layers.map((predicted, layer) => element("tr", {},
      element("th", { scope: "row" }, `layer ${layer + 1}`),
      element("td", {}, ...predicted.candidates.map(([token, label, logProb]) => element("span",
        { class: token === id ? "prediction same" : "prediction", title: label }, element("span", { dir: "auto" }, label),
        element("small", {}, Math.exp(logProb).toFixed(2))))),
      element("td", { class: "number", title: probabilityOf(predicted.logProb) }, roughProbability(predicted.logProb)))));
  };
  return Object.assign(part, { reflect });
}
