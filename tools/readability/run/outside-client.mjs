import { fork } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** @typedef {{ id: number, result?: number, error?: string }} Answer */

const POLL_MS = 50;
const LONGEST_WAIT_MS = 60_000;

/** Sends commands to Kafka through kafka-client.mjs, which runs in another process. */
export class OutsideClient {
  #child;
  #lastId = 0;
  /** @type {Map<number, (answer: Answer) => void>} */
  #pending = new Map();

  /** @param {readonly string[]} brokers */
  constructor(brokers) {
    this.#child = fork(join(import.meta.dirname, 'kafka-client.mjs'), [...brokers]);
    this.#child.on('message', (/** @type {Answer} */ answer) => {
      this.#pending.get(answer.id)?.(answer);
      this.#pending.delete(answer.id);
    });
    this.#child.on('exit', (code) => {
      const error = `the process that talks to Kafka ended with code ${code}`;
      for (const [id, answer] of this.#pending) answer({ id, error });
      this.#pending.clear();
    });
  }

  /** @param {string} name */
  createTopic(name) {
    return this.#ask('createTopic', name);
  }

  /**
   * @param {string} topic
   * @param {string} value
   */
  send(topic, value) {
    return this.#ask('send', topic, value);
  }

  /**
   * @param {string} groupId
   * @param {string} topic
   * @param {number} offset
   */
  whenCommitted(groupId, topic, offset) {
    return this.#until(
      async () => (await this.#ask('committed', groupId, topic)) >= offset,
      `${groupId} did not commit offset ${offset} of ${topic}`,
    );
  }

  /**
   * @param {string} topic
   * @param {number} records
   */
  whenWritten(topic, records) {
    return this.#until(
      async () => (await this.#ask('count', topic)) >= records,
      `${topic} did not get ${records} records`,
    );
  }

  close() {
    this.#child.disconnect();
  }

  /**
   * @param {() => Promise<boolean>} condition
   * @param {string} failure
   */
  async #until(condition, failure) {
    const deadline = Date.now() + LONGEST_WAIT_MS;
    while (!(await condition())) {
      if (Date.now() > deadline) throw new Error(failure);
      await sleep(POLL_MS);
    }
  }

  /**
   * @param {string} name
   * @param {string[]} args
   * @returns {Promise<number>}
   */
  #ask(name, ...args) {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, ({ result, error }) => {
        if (error === undefined) resolve(result ?? 0);
        else reject(new Error(error));
      });
      this.#child.send({ id, name, args });
    });
  }
}
