import kafkajsPackage from './kafkajs-package.cjs';
import { UnsupportedError } from '../../port/errors.js';

/**
 * The only supported version, because this library imports internal modules of kafkajs, which may
 * differ in every other version.
 */
export const SUPPORTED_KAFKAJS = '2.2.4';

export function requireKafkajsVersion(found: string = kafkajsPackage.version): void {
  if (found === SUPPORTED_KAFKAJS) return;
  throw new UnsupportedError(
    `kafkajs ${found} is installed, and the driver works with ${SUPPORTED_KAFKAJS} only. Run: npm i kafkajs@${SUPPORTED_KAFKAJS}`,
  );
}
