// The road that the server sent: its steps, and where every head looked at each.

const NATS = (value) => value.toFixed(2).replace("-", "−");
// Four decimals, or what little there is: no piece has a probability of exactly 0.
function probabilityOf(logProb) {
  const probability = Math.exp(logProb);
  return probability < 0.00005 ? probability.toExponential(0) : probability.toFixed(4);
}

class Road {
  // The codes hold, for the decoder and then for the source, every head's rows and last the mean of all heads.
  constructor({ header, codes }) {
    Object.assign(this, header);
    this.codes = codes;
    this.count = header.steps.length;
    this.planes = header.layers * header.heads + 1;
  }

  // Weights of one row: of a plane (layer * heads + head; the last is the mean) at a step.
  decoderRow(plane, step) {
    const start = (plane * this.count + step) * this.count;
    return Array.from(this.codes.subarray(start, start + step + 1), weightOf);
  }

  crossRow(plane, step) {
    const width = this.source.length;
    const start = this.planes * this.count * this.count + (plane * this.count + step) * width;
    return Array.from(this.codes.subarray(start, start + width), weightOf);
  }

  plane({ show, layer, head }) {
    return show === "head" ? layer * this.heads + head : this.planes - 1;
  }

  // The step at which the two likeliest pieces are closest to each other.
  get hesitation() {
    const gaps = this.steps.map(({ candidates: [first, second] }) => Math.exp(first[2]) - Math.exp(second?.[2] ?? -99));
    return gaps.indexOf(Math.min(...gaps));
  }

  // The sum of the log-probabilities up to a step, that step included.
  scoreAt(step) {
    return this.steps.slice(0, step + 1).reduce((sum, { logProb }) => sum + logProb, 0);
  }
}

// One sentence about a step, made from its numbers.
function sentenceOfStep(road, step) {
  const { candidates: [first, second], entropy, rank, forced, out, logProb } = road.steps[step];
  const named = ([, label, logProb]) => `“${label}” (${Math.exp(logProb).toFixed(2)})`;
  const [most, next] = [Math.exp(first[2]), Math.exp(second?.[2] ?? -99)];
  if (forced && rank > 1) return `This piece was chosen for the model; it would rather have said ${named(first)}.`;
  if (rank > 1) return `It took “${out}” (${probabilityOf(logProb)}); ${named(first)} was likelier.`;
  const torn = (most - next < 0.2 && most < 0.6) || (step === road.hesitation && most < 0.9);
  if (torn) return `Here it hesitates between ${named(first)} and ${named(second)}.`;
  if (most >= 0.9) return `Here it is sure: ${named(first)}.`;
  if (entropy > 2) {
    return `Here it prefers ${named(first)}, but much else is possible: the entropy is ${entropy.toFixed(2)} nats.`;
  }
  return `Here it prefers ${named(first)} to ${named(second)}.`;
}
