import { realRuntime } from '@nest-event-bus/broker/runtime';
import { eventually } from '@nest-event-bus/testing';
import { encodeAssignment, memberProtocols } from '../../../libs/broker/src/assignment/index.js';
import { GroupCoordinator } from '../../../libs/broker/src/client/group/index.js';
import {
  Cluster,
  joinRequest,
  syncRequest,
  type JoinResponse,
} from '../../../libs/broker/src/wire/index.js';

const TIMEOUT_MS = 60_000;
const MEMBER_ID_REQUIRED = 79;

/**
 * A member that acts only when the test requests it. As the first member it is the leader, and all
 * others wait for its assignment.
 */
export class SlowLeader {
  readonly #cluster: Cluster;
  readonly #coordinator: GroupCoordinator;
  #memberId = '';
  #joined: JoinResponse | undefined;

  constructor(
    brokers: readonly string[],
    private readonly groupId: string,
    private readonly topic: string,
  ) {
    this.#cluster = new Cluster({
      brokers,
      clientId: 'slow-leader',
      connectionTimeoutMs: 5_000,
      requestTimeoutMs: TIMEOUT_MS,
      runtime: realRuntime,
    });
    this.#coordinator = new GroupCoordinator({
      cluster: this.#cluster,
      groupId,
      sessionId: 'slow-leader',
    });
  }

  /** Resolves when all members have joined. */
  async join(): Promise<void> {
    await eventually(() => this.#join(), {
      description: 'the leader to join',
      timeoutMs: TIMEOUT_MS,
    });
  }

  /** Assigns this partition to the other member. */
  async assign(partition: number): Promise<void> {
    const { members = [], generationId: generation = -1 } = this.#joined ?? {};
    const plan = members
      .filter(({ memberId }) => memberId !== this.#memberId)
      .map(({ memberId }) => ({
        memberId,
        assignment: encodeAssignment([{ topic: this.topic, partition }]),
      }));
    const identity = { groupId: this.groupId, memberId: this.#memberId, generation };
    await this.#coordinator.request('leading', syncRequest(identity, plan), {
      timeoutMs: TIMEOUT_MS,
    });
  }

  close(): void {
    this.#coordinator.close();
    this.#cluster.close();
  }

  /**
   * Throws if the join must be repeated, because the member id is missing or the group has no
   * coordinator yet.
   */
  async #join(): Promise<true> {
    const { groupId, topic } = this;
    const request = joinRequest({
      groupId,
      memberId: this.#memberId,
      groupInstanceId: null,
      sessionTimeoutMs: TIMEOUT_MS,
      rebalanceTimeoutMs: TIMEOUT_MS,
      protocols: memberProtocols({
        assignors: ['cooperative-sticky'],
        topics: [topic],
        previous: null,
        held: null,
      }),
    });
    const timeoutMs = TIMEOUT_MS;
    const { answer } = await this.#coordinator.request('leading', request, { timeoutMs });
    if (answer.errorCode === MEMBER_ID_REQUIRED) this.#memberId = answer.memberId;
    if (answer.errorCode !== 0) throw new Error(`The join was answered with ${answer.errorCode}.`);
    this.#joined = answer;
    return true;
  }
}
