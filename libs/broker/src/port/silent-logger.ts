import type { DriverLogger } from './driver.js';

/** The logger of whoever gave none. */
export const silentLogger: DriverLogger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
