/** A line of a scrape. */
export interface ScrapedSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g;

/** Parses Prometheus's text format. Throws if a line is no sample, or if a sample occurs twice. */
export function parseScrape(text: string): readonly ScrapedSample[] {
  const seen = new Set<string>();
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', labels = '', value = ''] = LINE.exec(line) ?? [];
      if (name === '') throw new Error(`No sample: ${line}`);
      const parsed = Object.fromEntries(
        [...labels.matchAll(LABEL)].map(([, key = '', text = '']) => [key, text]),
      );
      const key = `${name} ${JSON.stringify(Object.entries(parsed).sort(([a], [b]) => (a < b ? -1 : 1)))}`;
      if (seen.has(key)) throw new Error(`Twice: ${line}`);
      seen.add(key);
      return { name, labels: parsed, value: value === '+Inf' ? Infinity : Number(value) };
    });
}

/** Adds up the samples with this name and these labels. */
export function scraped(
  samples: readonly ScrapedSample[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  return samples
    .filter(
      (sample) =>
        sample.name === name &&
        Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
    )
    .reduce((sum, { value }) => sum + value, 0);
}
