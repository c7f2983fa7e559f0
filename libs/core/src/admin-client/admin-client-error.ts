import type { AdminProblem } from '../admin/api/schemas/common-schemas.js';

/** The API has refused a request. `problem` says why, if the API itself has answered. */
export class AdminClientError extends Error {
  override readonly name = 'AdminClientError';
  /** The code of the problem, or `HTTP_` with the status if something in front of the API answered. */
  readonly code: string;

  constructor(
    readonly status: number,
    readonly problem: AdminProblem | undefined,
  ) {
    super(
      problem?.detail ??
        `The admin API answered with status ${status}. Look at what is in front of it.`,
    );
    this.code = problem?.code ?? `HTTP_${status}`;
  }
}

export function readProblem(text: string): AdminProblem | undefined {
  try {
    const problem = JSON.parse(text) as Partial<AdminProblem> | null;
    return typeof problem?.code === 'string' ? (problem as AdminProblem) : undefined;
  } catch {
    return undefined;
  }
}
