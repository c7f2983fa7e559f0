import type { DriverLogger } from './driver.js';

/** The default logger: discards everything. */
export const silentLogger: DriverLogger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
