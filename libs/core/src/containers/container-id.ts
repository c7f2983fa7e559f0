/** Returns the id of a container, which is its client id at the brokers: `eventbus-orders-retry-1`. */
export function containerId(binding: string, tier = 0): string {
  return tier === 0 ? `eventbus-${binding}` : `eventbus-${binding}-retry-${tier}`;
}
