/** What the model expects of an answer. `body` is compared as a part of it. */
export interface Expected {
  readonly status: number;
  readonly body?: object;
}

export interface FuzzCall {
  readonly operation: string;
  readonly params: Readonly<Record<string, string | number>>;
  readonly query: Readonly<Record<string, string | number | boolean>>;
  readonly body: Readonly<Record<string, unknown>>;
}

type LetterState = 'open' | 'replayed' | 'permanently-failed';
type BindingState = 'CREATED' | 'RUNNING' | 'PAUSED' | 'STOPPED';

interface ModelOperation {
  readonly digest: string;
  readonly selected: ReadonlySet<number>;
  /** The offset before which the plan has looked. */
  readonly to: number;
  state: 'planned' | 'cancelled' | 'completed';
}

interface Selection {
  readonly where?: Readonly<Record<string, unknown>>;
  readonly limit?: number;
}

const NOT_FOUND: Expected = { status: 404 };
const CONFLICT: Expected = { status: 409 };
const INVALID: Expected = { status: 400 };
const TIERS = 1;
/** All letters are younger than the first year and older than the second one. */
const YEARS_OF_LETTERS = [2001, 2900] as const;

/**
 * The state of an application with one topic of dead letters, written down a second time. It knows
 * nothing of the code that it predicts.
 */
export class AdminModel {
  readonly bindings = new Map<string, BindingState>([['orders', 'RUNNING']]);
  readonly letters: LetterState[] = [];
  readonly operations = new Map<string, ModelOperation>();
  /** Letters before this offset are deleted. */
  low = 0;

  addLetters(count: number): void {
    for (let index = 0; index < count; index++) this.letters.push('open');
  }

  get counts(): Readonly<Record<LetterState, number>> {
    const counts = { open: 0, replayed: 0, 'permanently-failed': 0 };
    for (const state of this.letters.slice(this.low)) counts[state]++;
    return counts;
  }

  /** Predicts the answer of a valid request, and changes the state as the request does. */
  give({ operation, params, query, body }: FuzzCall): Expected {
    const name = String(params['name'] ?? '');
    const isOther = query['cluster'] !== undefined && query['cluster'] !== 'default';
    switch (operation) {
      case 'listBindings':
      case 'getHealth':
      case 'getOpenApi':
      case 'listInstances':
        return { status: 200 };
      case 'registerBinding':
        return this.#register(body);
      case 'getBinding':
      case 'getConfiguration':
      case 'changeConfiguration':
      case 'unregisterBinding':
      case 'startBinding':
      case 'stopBinding':
      case 'pauseBinding':
      case 'resumeBinding':
      case 'pauseTier':
      case 'resumeTier':
      case 'decide':
        // No control topic is configured, so there is no fleet.
        if (query['scope'] === 'fleet') return CONFLICT;
        if (isOther) return NOT_FOUND;
        if (name === 'audit') return CONFLICT;
        return this.#command(operation, name, Number(params['tier'] ?? 0));
      default:
        if (isOther || name !== 'orders') return this.#ofOtherBinding(operation, query, body);
        return this.#letters(operation, params, query, body);
    }
  }

  #register({ name, handler, autoStartup }: FuzzCall['body']): Expected {
    if (handler === 'none') return { status: 422 };
    if (handler === undefined && name !== 'orders') return { status: 422 };
    if (this.bindings.has(String(name))) return CONFLICT;
    const state = autoStartup === false ? 'CREATED' : 'RUNNING';
    this.bindings.set(String(name), state);
    return { status: 201, body: { name, state } };
  }

  #command(operation: string, name: string, tier: number): Expected {
    const state = this.bindings.get(name);
    if (!state) return NOT_FOUND;
    const isLive = state === 'RUNNING' || state === 'PAUSED';
    const becomes = (next: BindingState): Expected => {
      this.bindings.set(name, next);
      return { status: 200, body: { name, state: next } };
    };
    switch (operation) {
      case 'getConfiguration':
      case 'changeConfiguration':
      case 'getBinding':
        return { status: 200, body: { name, state } };
      case 'unregisterBinding':
        this.bindings.delete(name);
        return { status: 204 };
      case 'startBinding':
        return isLive ? CONFLICT : becomes('RUNNING');
      case 'stopBinding':
        return isLive ? becomes('STOPPED') : CONFLICT;
      case 'pauseBinding':
        return state === 'RUNNING' ? becomes('PAUSED') : CONFLICT;
      case 'resumeBinding':
        return state === 'PAUSED' ? becomes('RUNNING') : CONFLICT;
      case 'decide':
        return CONFLICT;
      default:
        if (tier > TIERS) return NOT_FOUND;
        return isLive ? { status: 200, body: { name, state } } : CONFLICT;
    }
  }

  /** What is wrong in itself is refused before the binding is looked for. */
  #ofOtherBinding(operation: string, query: FuzzCall['query'], body: FuzzCall['body']): Expected {
    const isReplay = operation === 'replay' || operation === 'replayToTier';
    if (isReplay && !isOneSelection(query)) return INVALID;
    if (operation === 'createOperation' && !isSelection(body)) return INVALID;
    if (
      operation === 'purge' &&
      (query['olderThan'] === undefined) === (query['plan'] === undefined)
    )
      return INVALID;
    if (
      operation === 'markDeadLetters' &&
      (body['at'] === undefined) === (body['where'] === undefined)
    )
      return INVALID;
    if (operation === 'editAndReplay' && !changesSomething(body)) return INVALID;
    return NOT_FOUND;
  }

  #letters(
    operation: string,
    params: FuzzCall['params'],
    query: FuzzCall['query'],
    body: FuzzCall['body'],
  ): Expected {
    const id = String(params['id'] ?? '');
    const known = this.operations.get(id);
    switch (operation) {
      case 'searchDeadLetters':
        return this.#search(body);
      case 'getPayload':
        return this.#payload(Number(params['partition']), Number(params['offset']));
      case 'getDeadLetterStats':
        return {
          status: 200,
          body: { count: this.letters.length - this.low, byStatus: this.counts },
        };
      case 'replay':
        return this.#replay(query, 0);
      case 'replayToTier':
        return this.#replay(query, Number(query['tier']));
      case 'purge':
        return this.#purge(query);
      case 'markDeadLetters':
        return this.#mark(body);
      case 'editAndReplay':
        return this.#edit(Number(params['partition']), Number(params['offset']), body);
      case 'createOperation':
        return this.#create(body);
      case 'runOperation':
        if (!known) return NOT_FOUND;
        if (known.state === 'cancelled') return CONFLICT;
        this.#run(known);
        return { status: 202, body: { id } };
      case 'approveOperation':
        // No generated operation has a canary.
        return known ? CONFLICT : NOT_FOUND;
      case 'cancelOperation':
        if (!known) return NOT_FOUND;
        if (known.state === 'planned') known.state = 'cancelled';
        return { status: 200, body: { id, state: known.state } };
      case 'followOperation':
        return known ? { status: 200 } : NOT_FOUND;
      case 'getOperation':
        return known ? { status: 200, body: { id, state: known.state } } : NOT_FOUND;
      default:
        return { status: 200 };
    }
  }

  #search(body: FuzzCall['body']): Expected {
    const {
      where,
      status,
      limit = 50,
      after,
    } = body as {
      where?: Record<string, unknown>;
      status?: LetterState;
      limit?: number;
      after?: { partition: number; offset: string };
    };
    const from =
      after === undefined ? 0 : after.partition > 0 ? Infinity : Number(after.offset) + 1;
    const found = this.#matching({ where })
      .filter((offset) => offset >= from)
      .filter((offset) => status === undefined || this.letters[offset] === status)
      .slice(0, limit);
    return {
      status: 200,
      body: {
        letters: found.map((offset) => ({
          position: { partition: 0, offset: String(offset) },
          status: this.letters[offset],
        })),
      },
    };
  }

  #payload(partition: number, offset: number): Expected {
    const exists = partition === 0 && offset >= this.low && offset < this.letters.length;
    return exists ? { status: 200, body: { value: String(offset) } } : NOT_FOUND;
  }

  #replay(query: FuzzCall['query'], tier: number): Expected {
    if (!isOneSelection(query) || isEmptyRange(query)) return INVALID;
    if (tier > TIERS) return NOT_FOUND;
    const [from, to] = [yearOf(query['from'], 0), yearOf(query['to'], 9_999)];
    const isInRange = from <= YEARS_OF_LETTERS[0] && to >= YEARS_OF_LETTERS[1];
    const limit = query['count'] as number | undefined;
    const selected = isInRange ? this.#open({ limit }) : [];
    for (const offset of selected) this.letters[offset] = 'replayed';
    return { status: 200, body: { replayed: selected.length } };
  }

  #purge({ olderThan, plan }: FuzzCall['query']): Expected {
    if ((olderThan === undefined) === (plan === undefined)) return INVALID;
    const before = this.low;
    if (plan === undefined) {
      if (olderThan === 'PT0S') this.low = this.letters.length;
      return { status: 200, body: { deleted: this.low - before } };
    }
    const operation = this.operations.get(String(plan));
    if (!operation) return NOT_FOUND;
    while (
      this.low < operation.to &&
      (this.letters[this.low] !== 'open' || operation.selected.has(this.low))
    )
      this.low++;
    return { status: 200, body: { deleted: this.low - before } };
  }

  #mark({ at, where }: FuzzCall['body']): Expected {
    if ((at === undefined) === (where === undefined)) return INVALID;
    const positions = (at ?? []) as readonly { partition: number; offset: string }[];
    const offsets = new Set(
      positions.filter(({ partition }) => partition === 0).map(({ offset }) => Number(offset)),
    );
    const meant = where
      ? this.#matching({ where: where as Record<string, unknown> })
      : this.#matching({}).filter((offset) => offsets.has(offset));
    const open = meant.filter((offset) => this.letters[offset] === 'open');
    for (const offset of open) this.letters[offset] = 'permanently-failed';
    const [changed, unchanged] = [open.length, meant.length - open.length];
    return { status: 200, body: { changed, unchanged } };
  }

  #edit(partition: number, offset: number, body: FuzzCall['body']): Expected {
    if (!changesSomething(body)) return INVALID;
    const isOpen = partition === 0 && offset >= this.low && this.letters[offset] === 'open';
    if (!isOpen) return CONFLICT;
    this.letters[offset] = 'replayed';
    return { status: 200 };
  }

  #create(body: FuzzCall['body']): Expected {
    const {
      id,
      where,
      limit,
      to = 'origin',
      dryRun = false,
    } = body as {
      id?: string;
      where?: Record<string, unknown>;
      limit?: number;
      to?: unknown;
      dryRun?: boolean;
    };
    if (!isSelection(body)) return INVALID;
    const digest = JSON.stringify([where, body['all'], limit, to]);
    const known = id === undefined ? undefined : this.operations.get(id);
    if (known && known.digest !== digest) return CONFLICT;
    const tier = typeof to === 'object' ? (to as { tier: number }).tier : 0;
    if (!known && tier > TIERS) return NOT_FOUND;
    const selected = known ? [] : this.#open({ where, limit });
    const end = selected.length === limit ? (selected.at(-1) ?? 0) + 1 : this.letters.length;
    const operation: ModelOperation = known ?? {
      digest,
      selected: new Set(selected),
      to: end,
      state: selected.length === 0 ? 'completed' : 'planned',
    };
    if (id !== undefined) this.operations.set(id, operation);
    const answer = { status: 202, body: { selected: operation.selected.size } };
    if (!dryRun && operation.state === 'planned') this.#run(operation);
    return answer;
  }

  #run(operation: ModelOperation): void {
    if (operation.state !== 'planned') return;
    operation.state = 'completed';
    for (const offset of operation.selected)
      if (offset >= this.low && this.letters[offset] === 'open') this.letters[offset] = 'replayed';
  }

  #open(selection: Selection): readonly number[] {
    const open = this.#matching(selection).filter((offset) => this.letters[offset] === 'open');
    return open.slice(0, selection.limit ?? open.length);
  }

  /** Letters with even offsets have failed with `OutOfStock`, the others with `TimeoutError`. */
  #matching({ where }: Selection): readonly number[] {
    const all = this.letters.map((_, offset) => offset).filter((offset) => offset >= this.low);
    const { exceptionClass, originalOffset } = (where ?? {}) as {
      exceptionClass?: string | { in: string[] } | { prefix: string };
      originalOffset?: { from?: string; to?: string };
    };
    return all.filter((offset) => {
      const failed = offset % 2 === 0 ? 'OutOfStock' : 'TimeoutError';
      const { from = 0, to = Infinity } = originalOffset ?? {};
      return hasText(failed, exceptionClass) && offset >= Number(from) && offset < Number(to);
    });
  }
}

function hasText(
  text: string,
  condition: string | { in: string[] } | { prefix: string } | undefined,
): boolean {
  if (condition === undefined || typeof condition === 'string') return text === (condition ?? text);
  return 'in' in condition ? condition.in.includes(text) : text.startsWith(condition.prefix);
}

function isOneSelection({ count, from, to, all }: FuzzCall['query']): boolean {
  const hasRange = from !== undefined || to !== undefined;
  return [count !== undefined, hasRange, all !== undefined].filter(Boolean).length === 1;
}

function isEmptyRange({ from, to }: FuzzCall['query']): boolean {
  return from !== undefined && to !== undefined && yearOf(from, 0) >= yearOf(to, 0);
}

function yearOf(time: unknown, otherwise: number): number {
  return time === undefined ? otherwise : new Date(time as string).getUTCFullYear();
}

function isSelection({ where, all, limit }: FuzzCall['body']): boolean {
  if (where !== undefined && all !== undefined) return false;
  return where !== undefined || all !== undefined || limit !== undefined;
}

function changesSomething({ headers, key, value }: FuzzCall['body']): boolean {
  return [headers, key, value].some((part) => part !== undefined);
}
