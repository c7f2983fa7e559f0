/** What the table keeps of an error: its name and its message. */
export function errorText(thrown: unknown): string {
  if (!(thrown instanceof Error))
    return `Something was thrown that is not an Error: ${typeof thrown}`;
  return `${thrown.name}: ${thrown.message}`;
}

/**
 * What a log line shows of an error: its name and its code. The message of another library or of
 * the application may contain data.
 */
export function errorName(thrown: unknown): string {
  if (!(thrown instanceof Error)) return `a thrown ${typeof thrown}`;
  const code = (thrown as { code?: unknown }).code;
  return typeof code === 'string' && /^\w{1,64}$/.test(code)
    ? `${thrown.name} (${code})`
    : thrown.name;
}
