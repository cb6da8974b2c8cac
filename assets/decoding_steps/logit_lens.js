// The logit lens: a table with the prediction of each layer (nostalgebraist 2020).

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
      "Each layer's output, sent through the final norm and the output layer. The last layer gives the model's own prediction."));
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
