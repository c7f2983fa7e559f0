import type { ArgumentsHost } from '@nestjs/common';
import { CONTEXT_TYPE } from './nest-contexts.js';
import type { HandlerArguments } from './parameter-value.js';

/**
 * The ArgumentsHost of an exception filter: the record and its context, in the positions where
 * filters of each transport expect them.
 */
export function argumentsHost(args: HandlerArguments): ArgumentsHost {
  // The type is chosen by the caller, as in Nest's own ArgumentsHost.
  const at = (index: number) => args[index] as never;
  return {
    getArgs: () => [...args] as never,
    getArgByIndex: at,
    getType: () => CONTEXT_TYPE as never,
    switchToRpc: () => ({ getData: () => at(0), getContext: () => at(1) }),
    switchToHttp: () => ({
      getRequest: () => at(0),
      getResponse: () => at(1),
      getNext: () => at(2),
    }),
    switchToWs: () => ({ getClient: () => at(0), getData: () => at(1), getPattern: () => '' }),
  };
}
