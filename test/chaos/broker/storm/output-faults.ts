export interface OutputFaults {
  /** Inputs without an output. */
  readonly missing: readonly string[];
  /** Outputs that a read_committed consumer sees more than once. */
  readonly duplicated: readonly string[];
  /** Outputs without an input. */
  readonly unexpected: readonly string[];
}

/** Compares inputs and outputs: each input must have exactly one output, and each output an input. */
export function outputFaults(inputs: readonly string[], outputs: readonly string[]): OutputFaults {
  const written = new Set(inputs);
  const seen = new Set<string>();
  return {
    duplicated: outputs.filter((output) => seen.size === seen.add(output).size),
    unexpected: outputs.filter((output) => !written.has(output)),
    missing: inputs.filter((input) => !seen.has(input)),
  };
}
