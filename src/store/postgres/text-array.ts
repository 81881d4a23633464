/**
 * Arrays in the binary format of PostgreSQL, one per column of a batch. As text, every element would be escaped here
 * and parsed again by the server, which halves the rate of appends.
 */
const textOid = 25;
const int4Oid = 23;
/** Dimensions, flag for nulls, element type, length, lower bound: four bytes each. */
const headerBytes = 20;
const nullLength = -1;

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
  let at = writeHeader(buffer, hasNull, textOid, values.length);
  for (const [index, value] of values.entries()) {
    at = buffer.writeInt32BE(lengths[index] ?? nullLength, at);
    if (value !== null) at += buffer.write(value, at);
  }
  return buffer;
}

export function toIntArray(values: readonly (number | null)[]): Buffer {
  const buffer = Buffer.allocUnsafe(headerBytes + values.length * 8);
  let at = writeHeader(buffer, values.includes(null) ? 1 : 0, int4Oid, values.length);
  for (const value of values)
    if (value === null) at = buffer.writeInt32BE(nullLength, at);
    else {
      at = buffer.writeInt32BE(4, at);
      at = buffer.writeInt32BE(value, at);
    }
  return buffer.subarray(0, at);
}

function writeHeader(buffer: Buffer, hasNull: number, elementOid: number, length: number): number {
  buffer.writeInt32BE(1, 0);
  buffer.writeInt32BE(hasNull, 4);
  buffer.writeInt32BE(elementOid, 8);
  buffer.writeInt32BE(length, 12);
  return buffer.writeInt32BE(1, 16);
}
