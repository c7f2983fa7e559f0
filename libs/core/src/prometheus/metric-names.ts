import type { MetricFamily } from '../observability/metric-family.js';

type Named = Pick<MetricFamily, 'name' | 'type' | 'unit'>;

/**
 * Returns the name of a metric as Prometheus wants it: underscores, the unit, and `_total` for a
 * counter.
 */
export function prometheusName({ name, type, unit }: Named, prefix = ''): string {
  const base = `${prefix}${name.replaceAll('.', '_')}`;
  const withUnit = unit && !base.endsWith(`_${unit}`) ? `${base}_${unit}` : base;
  return type === 'counter' ? `${withUnit}_total` : withUnit;
}

/** Prefixes with which every name remains a legal one. An empty prefix is legal, too. */
export const LEGAL_PREFIX = /^([a-zA-Z_][a-zA-Z0-9_]*)?$/;

export const LEGAL_LABEL = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
