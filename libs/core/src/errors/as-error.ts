/** Whatever was thrown. A proxy that throws when it is asked what it is, is no error: the next to ask would get that. */
export function asError(thrown: unknown): Error {
  try {
    if (thrown instanceof Error) return thrown;
    return notAnError(String(thrown));
  } catch {
    return notAnError('something that cannot be shown');
  }
}

function notAnError(shown: string): Error {
  return new Error(`Something was thrown that is not an Error: ${shown}.`);
}
