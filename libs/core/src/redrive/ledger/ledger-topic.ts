import type { AdminSession } from '@nest-event-bus/broker';
import type { ResolvedBinding } from '../../config/resolving/resolved-binding.js';
import { isTopicName } from '../../config/resolving/legal-topic-name.js';
import { RedriveRefusedException } from '../../errors/redrive-errors.js';
import type { LedgerCache } from './ledger-cache.js';

type Topics = Pick<AdminSession, 'topics' | 'createTopics'>;

/** The binding options that decide the ledger of its dead letters. */
export type LedgerOwner = Pick<ResolvedBinding, 'name' | 'dlt' | 'provisioning' | 'topics'>;

/** The dead-letter topic and its ledger, as they are in the cluster. */
export interface LedgerTopics {
  readonly deadLetters: string;
  readonly deadLetterTopicId: string;
  readonly deadLetterPartitions: readonly number[];
  readonly ledger: string;
  readonly ledgerPartitions: number;
  /** Undefined if the brokers give topics no ids. */
  readonly ledgerId?: string | undefined;
  /** What this process has read of ledgers. If omitted, each read fetches the whole ledger. */
  readonly cache?: LedgerCache | undefined;
}

interface FoundLedger {
  readonly partitions: number;
  readonly id: string | undefined;
}

const UNKNOWN_ID = '-';

export function ledgerTopicOf({ name, dlt }: LedgerOwner): string {
  const topic = `${dlt.topic}.ledger`;
  if (isTopicName(topic)) return topic;
  throw new RedriveRefusedException(
    name,
    `its ledger would be called '${topic}', which is too long for a topic. Set a shorter dlt.topic.`,
  );
}

/**
 * Describes both topics. Creates the ledger if the binding creates its topics; otherwise refuses
 * with what to create.
 */
export async function requireLedger(
  admin: Topics,
  owner: LedgerOwner,
  cache?: LedgerCache,
): Promise<LedgerTopics> {
  const ledger = ledgerTopicOf(owner);
  const described = await describe(admin, owner, ledger);
  const { deadLetters, existing } = described;
  const found = existing ?? (await create(admin, owner, ledger, deadLetters.partitions.length));
  return {
    deadLetters: deadLetters.name,
    deadLetterTopicId: deadLetters.id ?? UNKNOWN_ID,
    deadLetterPartitions: deadLetters.partitions.map(({ partition }) => partition),
    ledger,
    ledgerPartitions: found.partitions,
    ledgerId: found.id,
    cache,
  };
}

async function describe(admin: Topics, { name, dlt }: LedgerOwner, ledger: string) {
  const topics = await admin.topics([dlt.topic, ledger]);
  const deadLetters = topics.find((topic) => topic.name === dlt.topic);
  if (!deadLetters)
    throw new RedriveRefusedException(
      name,
      `its dead-letter topic '${dlt.topic}' does not exist. Create it, or set provisioning: 'create'.`,
    );
  const found = topics.find((topic) => topic.name === ledger);
  const existing: FoundLedger | undefined = found && {
    partitions: found.partitions.length,
    id: found.id ?? undefined,
  };
  return { deadLetters, existing };
}

/** Resolves with the ledger, also if another node has created the topic meanwhile. */
async function create(
  admin: Topics,
  owner: LedgerOwner,
  ledger: string,
  partitions: number,
): Promise<FoundLedger> {
  if (owner.provisioning !== 'create')
    throw new RedriveRefusedException(
      owner.name,
      `the ledger topic '${ledger}' does not exist. Create it with ${partitions} partitions and cleanup.policy=compact, or set provisioning: 'create'.`,
    );
  const { replicationFactor } = owner.topics;
  await admin.createTopics([
    {
      name: ledger,
      partitions,
      ...(replicationFactor > 0 && { replicationFactor }),
      config: { 'cleanup.policy': 'compact' },
    },
  ]);
  const { existing } = await describe(admin, owner, ledger);
  return existing ?? { partitions, id: undefined };
}

/** The partition of the ledger that has the entries about a partition of the dead-letter topic. */
export function ledgerPartitionOf({ ledgerPartitions }: LedgerTopics, partition: number): number {
  return partition % ledgerPartitions;
}
