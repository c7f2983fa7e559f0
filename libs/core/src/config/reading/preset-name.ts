export const PRESET_NAMES = [
  'connector',
  'strategy',
  'strategy-financial',
  'strategy-notification',
  'strategy-reconciliation',
  'brokers',
  'resilient',
] as const;

export type PresetName = (typeof PRESET_NAMES)[number];
