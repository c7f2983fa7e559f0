/** Changes of the sources in the copy: the file, the text that occurs once in it, and its replacement. */
export const SOURCE_CHANGES = [
  {
    file: 'config/resolving/resolve-binding.ts',
    text: 'export function draftBinding(',
    replacement: `import { areViolationsAccepted, resolveWithout } from './break-option.js';

export function draftBinding(name: string, given: readonly BindingLayer[], context: BindingContext): BindingDraft {
  return resolveWithout(draftWhole, name, given, context);
}

function draftWhole(`,
  },
  {
    file: 'config/resolving/resolve-binding.ts',
    text: 'violations.all.length === 0 ? deepFreeze(binding)',
    replacement: 'violations.all.length === 0 || areViolationsAccepted() ? deepFreeze(binding)',
  },
  {
    file: 'config/resolving/resolve-options.ts',
    text: 'return [own, ...loaded];',
    replacement: `return rootsWithout([own, ...loaded]) as readonly Layer[];`,
  },
  {
    file: 'config/resolving/resolve-options.ts',
    text: 'function rootLayers(',
    replacement: `import { rootsWithout } from './break-option.js';\n\nfunction rootLayers(`,
  },
  {
    // The bus needs its clock before it resolves the options.
    file: 'nest/event-bus-providers.ts',
    text: 'options?.runtime ?? realRuntime',
    replacement: `(process.env['BREAK_OPTION'] === 'runtime' ? undefined : options?.runtime) ?? realRuntime`,
  },
];
