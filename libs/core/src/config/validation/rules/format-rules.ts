import { isTrusted } from '../../resolving/trusted-packages.js';
import type { BindingRule } from './binding-rule.js';

export const formatRules: readonly BindingRule[] = [
  {
    rule: 'UNTRUSTED_TYPE',
    reads: ['deserializer', 'typedJson.types', 'typedJson.trustedPackages'],
    check: ({ binding: { deserializer, typedJson }, is }) => {
      const { types, trustedPackages } = typedJson;
      if (deserializer !== 'typed-json') return [];
      const untrusted = Object.keys(types).filter((id) => !isTrusted(trustedPackages, id));
      if (untrusted.length === 0) return [];
      const message = `has types that no record may name: ${untrusted.join(', ')}; ${is('typedJson.trustedPackages', `a list of ${trustedPackages.join(', ')}`)}. Add their packages to typedJson.trustedPackages, or take them out.`;
      return [{ key: 'typedJson.types', value: untrusted, message }];
    },
  },
];
