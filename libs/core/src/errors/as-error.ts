/**
 * Turns anything thrown into an Error. A proxy that throws when it is inspected counts as no Error,
 * because the next reader would get its exception.
 */
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
