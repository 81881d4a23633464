import type { SqlNames } from 'quittance/internal/store/sql/driver';
import { createNames } from 'quittance/internal/store/sql/driver';

export const pgNames: SqlNames = createNames((name) => !name.includes('\0'));
export const toPgText: SqlNames['toText'] = pgNames.toText;
export const fromPgText: SqlNames['fromText'] = pgNames.fromText;

/**
 * Arrays in the binary format of PostgreSQL, one per column of a batch. As text, every element would be escaped here
 * and parsed again by the server, which halves the rate of appends.
 */
export const textOid = 25;
export const int4Oid = 23;
/** Dimensions, flag for nulls, element type, length, lower bound: four bytes each. */
export const headerBytes = 20;
export const nullLength = -1;

export function toTextArray(values: readonly (string | null)[]): Buffer {
  let bytes = headerBytes;
  let hasNull = 0;
  const lengths = new Int32Array(values.length);
  for (const [index, value] of values.entries()) {
    const length = value === null ? nullLength : Buffer.byteLength(value);
    lengths[index] = length;
    bytes += 4 + Math.max(length, 0);
    if (value === null) hasNull = 1;
  }
  const buffer = Buffer.allocUnsafe(bytes);
  let at = writeHeader(buffer, { at: 0, hasNull, elementOid: textOid, length: values.length });
  for (const [index, value] of values.entries()) {
    at = buffer.writeInt32BE(lengths[index] ?? nullLength, at);
    if (value !== null) at += buffer.write(value, at);
  }
  return buffer;
}

export function toIntArray(values: readonly (number | null)[]): Buffer {
  const buffer = Buffer.allocUnsafe(headerBytes + values.length * 8);
  let at = writeHeader(buffer, {
    at: 0,
    hasNull: values.includes(null) ? 1 : 0,
    elementOid: int4Oid,
    length: values.length,
  });
  for (const value of values)
    if (value === null) at = buffer.writeInt32BE(nullLength, at);
    else {
      at = buffer.writeInt32BE(4, at);
      at = buffer.writeInt32BE(value, at);
    }
  return buffer.subarray(0, at);
}

export type ArrayHeader = {
  readonly at: number;
  /** 1 if an element is null. */
  readonly hasNull: number;
  readonly elementOid: number;
  readonly length: number;
};

/** Returns the place after it. */
export function writeHeader(buffer: Buffer, { at, hasNull, elementOid, length }: ArrayHeader): number {
  buffer.writeInt32BE(1, at);
  buffer.writeInt32BE(hasNull, at + 4);
  buffer.writeInt32BE(elementOid, at + 8);
  buffer.writeInt32BE(length, at + 12);
  return buffer.writeInt32BE(1, at + 16);
}

/**
 * The first column of a statement that reads counters. A database may be set to shorten numbers. This sets it back until
 * the end of the transaction, before a row becomes text.
 */
export const exactNumbers = `set_config('extra_float_digits', '1', true) AS digits`;
