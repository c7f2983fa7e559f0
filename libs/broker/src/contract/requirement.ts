import type { BrokerCapabilities } from '../port/driver.js';
import type { ContractAbility, ContractFixture } from './fixture.js';

/**
 * A requirement of a case beyond the port itself: an ability of the environment or a capability of
 * the driver.
 */
export type Requirement = ContractAbility | keyof typeof capabilityChecks;

const capabilityChecks = {
  transactions: (capabilities: BrokerCapabilities) => capabilities.transactions,
  'no transactions': (capabilities: BrokerCapabilities) => !capabilities.transactions,
  'idempotent sends': (capabilities: BrokerCapabilities) => capabilities.idempotentSends,
  gzip: (capabilities: BrokerCapabilities) => capabilities.compressions.includes('gzip'),
  snappy: (capabilities: BrokerCapabilities) => capabilities.compressions.includes('snappy'),
  lz4: (capabilities: BrokerCapabilities) => capabilities.compressions.includes('lz4'),
  zstd: (capabilities: BrokerCapabilities) => capabilities.compressions.includes('zstd'),
  range: (capabilities: BrokerCapabilities) => capabilities.assignors.includes('range'),
  sticky: (capabilities: BrokerCapabilities) => capabilities.assignors.includes('sticky'),
  'cooperative-sticky': (capabilities: BrokerCapabilities) =>
    capabilities.assignors.includes('cooperative-sticky'),
} as const;

/** Returns the reason why the case cannot run here; undefined when it can. */
export function reasonToSkip(
  requirements: readonly Requirement[],
  fixture: ContractFixture,
): string | undefined {
  for (const requirement of requirements) {
    if (isCapability(requirement)) {
      if (!capabilityChecks[requirement](fixture.capabilities))
        return `the driver's capabilities say: not "${requirement}"`;
    } else if (!fixture.abilities.includes(requirement)) {
      return `this test environment has no "${requirement}"`;
    }
  }
  return undefined;
}

function isCapability(requirement: Requirement): requirement is keyof typeof capabilityChecks {
  return Object.hasOwn(capabilityChecks, requirement);
}
