import type { IDefaultPolicyContext, IPolicy } from 'cockatiel';

const silent = (): { dispose(): void } => ({ dispose: () => undefined });

/**
 * A policy for one delivery that cockatiel's `wrap` can compose. It has no listeners, because it
 * exists for one delivery only.
 */
export abstract class DeliveryPolicy<
  Context extends IDefaultPolicyContext,
> implements IPolicy<Context> {
  declare readonly _altReturn: never;
  readonly onSuccess = silent;
  readonly onFailure = silent;

  abstract execute<T>(
    call: (context: Context) => PromiseLike<T> | T,
    signal?: AbortSignal,
  ): Promise<T>;
}
