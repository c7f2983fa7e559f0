/** Milliseconds, or a number with its unit: `250`, `'250ms'`, `'10s'`, `'5m'`, `'1h'`, `'7d'`. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`;
