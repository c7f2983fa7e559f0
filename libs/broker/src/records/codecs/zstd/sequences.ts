import { MalformedBytesError } from '../../malformed-bytes-error.js';
import type { InflatedBytes } from '../inflated-bytes.js';
import type { BackwardBits } from './backward-bits.js';
import { FseState, fseTableOfOne, readFseTable, type FseTable } from './fse.js';
import {
  LITERAL_LENGTH,
  LITERAL_LENGTHS,
  MATCH_LENGTH,
  MATCH_LENGTHS,
  OFFSET,
} from './sequence-codes.js';
import type { SequenceCode } from './sequence-codes.js';

/** The tables of a block's sequences, which a later block may reuse. */
export interface SequenceTables {
  readonly literalLength: FseTable;
  readonly offset: FseTable;
  readonly matchLength: FseTable;
}

export interface SequenceSection {
  readonly count: number;
  readonly tables: SequenceTables | undefined;
  /** The position of the bit stream. */
  readonly start: number;
}

/** Compression modes of a table, as defined by RFC 8878. */
const PREDEFINED = 0;
const ONE_SYMBOL = 1;
const DESCRIBED = 2;

/**
 * The largest supported offset code. A larger offset would exceed the largest block that can be
 * returned.
 */
const LARGEST_OFFSET_CODE = 30;
const BITS_AT_ONCE = 16;

/** Reads the start of a sequences section: the number of sequences and their tables. */
export function readSequenceSection(
  bytes: Uint8Array,
  start: number,
  limit: number,
  known: SequenceTables | undefined,
): SequenceSection {
  const reader = new TableReader(bytes, start, limit);
  const count = reader.count();
  if (count === 0) return { count, tables: known, start: reader.at };
  const modes = reader.byte();
  if ((modes & 3) !== 0) throw new MalformedBytesError('its sequences have reserved bits');
  const literalLength = reader.table(modes >>> 6, LITERAL_LENGTH, known?.literalLength);
  const offset = reader.table((modes >>> 4) & 3, OFFSET, known?.offset);
  const matchLength = reader.table((modes >>> 2) & 3, MATCH_LENGTH, known?.matchLength);
  return { count, tables: { literalLength, offset, matchLength }, start: reader.at };
}

class TableReader {
  constructor(
    private readonly bytes: Uint8Array,
    public at: number,
    private readonly limit: number,
  ) {}

  byte(): number {
    if (this.at >= this.limit) throw new MalformedBytesError('its sequences are cut off');
    return this.bytes[this.at++] as number;
  }

  count(): number {
    const first = this.byte();
    if (first < 128) return first;
    if (first < 255) return ((first - 128) << 8) + this.byte();
    return this.byte() + (this.byte() << 8) + 0x7f00;
  }

  table(mode: number, code: SequenceCode, known: FseTable | undefined): FseTable {
    switch (mode) {
      case PREDEFINED:
        return code.predefined;
      case ONE_SYMBOL:
        return this.oneSymbol(code.limits.maxSymbol);
      case DESCRIBED:
        return this.described(code);
      default:
        if (known) return known;
        throw new MalformedBytesError('it refers to a table that was not defined');
    }
  }

  private oneSymbol(maxSymbol: number): FseTable {
    const symbol = this.byte();
    if (symbol > maxSymbol) throw new MalformedBytesError(`a table has the symbol ${symbol}`);
    return fseTableOfOne(symbol);
  }

  private described({ limits }: SequenceCode): FseTable {
    const { table, end } = readFseTable(this.bytes, this.at, this.limit, limits);
    this.at = end;
    return table;
  }
}

/** The last three distances of a frame. A sequence can refer to one of them by its number. */
export class RecentOffsets {
  private first = 1;
  private second = 4;
  private third = 8;

  /**
   * Returns the distance for `value`: above 3, `value` minus 3; otherwise the recent distance with
   * this number. In a sequence without literals, 1 and 2 mean the second and the third recent
   * distance, and 3 means the first one minus 1.
   */
  resolve(value: number, hasLiterals: boolean): number {
    if (value > 3) return this.remember(value - 3);
    const which = hasLiterals ? value : value + 1;
    if (which === 1) return this.first;
    if (which === 3) return this.remember(this.third);
    if (which === 4) return this.remember(this.first - 1);
    [this.first, this.second] = [this.second, this.first];
    return this.first;
  }

  private remember(offset: number): number {
    this.third = this.second;
    this.second = this.first;
    this.first = offset;
    return offset;
  }
}

/**
 * Writes literals and matches in turn, and then the remaining literals. Matches may reference bytes
 * from `floor` on.
 */
export function inflateSequences(
  bits: BackwardBits,
  count: number,
  tables: SequenceTables,
  literals: Uint8Array,
  recent: RecentOffsets,
  output: InflatedBytes,
  { floor, end }: { readonly floor: number; readonly end: number },
): void {
  const literalState = new FseState(tables.literalLength, bits);
  const offsetState = new FseState(tables.offset, bits);
  const matchState = new FseState(tables.matchLength, bits);
  let literal = 0;
  for (let left = count; left > 0; left--) {
    const offsetCode = offsetState.symbol;
    const matchCode = matchState.symbol;
    const literalCode = literalState.symbol;
    const offset = readOffset(bits, offsetCode);
    const match =
      (MATCH_LENGTHS.baselines[matchCode] as number) +
      bits.read(MATCH_LENGTHS.bits[matchCode] as number);
    const length =
      (LITERAL_LENGTHS.baselines[literalCode] as number) +
      bits.read(LITERAL_LENGTHS.bits[literalCode] as number);
    if (length > literals.length - literal || output.length + length + match > end) {
      throw new MalformedBytesError('its sequences have more bytes than the block may have');
    }
    output.append(literals, literal, literal + length);
    literal += length;
    output.repeat(recent.resolve(offset, length > 0), match, floor);
    if (left === 1) break;
    literalState.advance(bits);
    matchState.advance(bits);
    offsetState.advance(bits);
  }
  if (bits.left !== 0) throw new MalformedBytesError('its sequences have a wrong length');
  output.append(literals, literal, literals.length);
}

function readOffset(bits: BackwardBits, code: number): number {
  if (code > LARGEST_OFFSET_CODE) throw new MalformedBytesError('a copy starts too far back');
  if (code <= BITS_AT_ONCE) return 2 ** code + bits.read(code);
  const high = bits.read(code - BITS_AT_ONCE);
  return 2 ** code + high * 2 ** BITS_AT_ONCE + bits.read(BITS_AT_ONCE);
}
