/** The known name with the fewest edits, if there are so few that the given one is probably a typing mistake. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const given = name.slice(0, 100).toLowerCase();
  let best: { readonly name: string; readonly edits: number } | undefined;
  for (const candidate of known) {
    const edits = editDistance(given, candidate.toLowerCase());
    if (!best || edits < best.edits) best = { name: candidate, edits };
  }
  const most = Math.min(given.length - 1, Math.max(2, Math.floor(given.length / 3)));
  return best && best.edits <= most ? best.name : undefined;
}

/** `Did you mean …?`, or the list of known names. */
export function suggestion(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  return nearest ? `Did you mean '${nearest}'?` : `Known are: ${known.join(', ')}.`;
}

/** The Levenshtein distance, computed row by row. */
function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = (previous[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[to.length] ?? 0;
}
