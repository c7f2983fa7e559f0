import type { GroupProtocol } from '../../port/consumer.js';
import { ClassicMembership, type ClassicMembershipOptions } from './classic/classic-membership.js';
import { ConsumerMembership } from './consumer-protocol/consumer-membership.js';
import { FallbackMembership } from './fallback-membership.js';
import type { Membership } from './membership.js';

export interface MembershipOptions extends ClassicMembershipOptions {
  readonly groupProtocol: GroupProtocol;
  /**
   * Called when the broker does not support the requested protocol. The session continues with the
   * classic protocol.
   */
  readonly onFallback: (error: Error) => void;
}

export function membershipByProtocol(options: MembershipOptions): Membership {
  const classic = () => new ClassicMembership(options);
  if (options.groupProtocol === 'classic') return classic();
  return new FallbackMembership(
    (onUnsupported) => new ConsumerMembership({ ...options, onUnsupported }),
    (error) => {
      options.onFallback(error);
      return classic();
    },
  );
}
