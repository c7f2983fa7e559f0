export interface OutputFaults {
  /** Inputs that have no output. */
  readonly without: readonly string[];
  /** Outputs that a read-committed reader sees once more. */
  readonly doubled: readonly string[];
  /** Outputs of no input. */
  readonly foreign: readonly string[];
}

/** Whether each input has exactly one output, and each output an input. */
export function outputFaults(inputs: readonly string[], outputs: readonly string[]): OutputFaults {
  const written = new Set(inputs);
  const seen = new Set<string>();
  return {
    doubled: outputs.filter((output) => seen.size === seen.add(output).size),
    foreign: outputs.filter((output) => !written.has(output)),
    without: inputs.filter((input) => !seen.has(input)),
  };
}
