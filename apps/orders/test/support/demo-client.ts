import { eventually } from './demo-process.js';

export interface BindingReport {
  readonly state: string;
  readonly status: string;
  /** Missing if the binding is UP. */
  readonly reasons?: readonly string[];
}

export interface Health {
  readonly state: string;
  readonly bindings: Readonly<Record<string, BindingReport>>;
}

export interface Book {
  readonly produced: number;
  readonly handled: number;
  readonly open: number;
}
export type Books = Readonly<Record<'orders' | 'payments' | 'notifications', Book>>;

/** The answer to a request that changes something. */
export interface Answer<T> {
  readonly status: number;
  readonly body: T;
}

/** Talks to the demo by HTTP, as a visitor does. */
export class DemoClient {
  constructor(readonly url: string) {}

  async get<T>(path: string): Promise<T> {
    const response = await fetch(`${this.url}${path}`);
    return (await response.json()) as T;
  }

  async post<T>(path: string, body?: unknown): Promise<Answer<T>> {
    const response = await fetch(`${this.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body ?? {}),
    });
    return { status: response.status, body: (await response.json()) as T };
  }

  async health(): Promise<Health> {
    interface Details {
      readonly details: { readonly eventbus: Health };
    }
    const { details } = await this.get<Details>('/health');
    return details.eventbus;
  }

  books(): Promise<Books> {
    return this.get<Books>('/books');
  }

  async breakAll(mode: string): Promise<void> {
    for (const name of ['warehouse', 'bank', 'mail']) await this.post(`/faults/${name}/${mode}`);
  }

  healthIs(isRight: (health: Health) => boolean): Promise<Health> {
    return eventually(() => this.health(), isRight);
  }

  booksAre(isRight: (books: Books) => boolean): Promise<Books> {
    return eventually(() => this.books(), isRight);
  }
}
