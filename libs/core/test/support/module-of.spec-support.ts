import { Module, type ModuleMetadata, type Type } from '@nestjs/common';

/** Returns a new module class with this metadata. */
export function moduleOf(metadata: ModuleMetadata): Type {
  class Some {}
  Module(metadata)(Some);
  return Some;
}
