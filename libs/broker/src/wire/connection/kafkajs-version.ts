import kafkajsPackage from './kafkajs-package.cjs';
import { UnsupportedError } from '../../port/errors.js';

/** The wire room imports kafkajs's inner modules, which no other version promises to have. */
export const SUPPORTED_KAFKAJS = '2.2.4';

export function requireKafkajsVersion(found: string = kafkajsPackage.version): void {
  if (found === SUPPORTED_KAFKAJS) return;
  throw new UnsupportedError(
    `kafkajs ${found} is installed, and the driver works with ${SUPPORTED_KAFKAJS} only. Run: npm i kafkajs@${SUPPORTED_KAFKAJS}`,
  );
}
