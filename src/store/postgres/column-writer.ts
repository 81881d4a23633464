/**
 * Writes the columns of one batch after another into the same buffer, as arrays in the binary format of PostgreSQL. The
 * columns of a batch are valid until the next batch begins: by then the server has answered.
 */
import { headerBytes, int4Oid, nullLength, textOid, writeHeader } from './text-array.ts';

const firstBytes = 65_536;
const mostKeptBytes = 4_194_304;
/** UTF-8 takes at most this many bytes for a UTF-16 unit. */
const mostBytesPerUnit = 3;

export class ColumnWriter {
  #buffer = Buffer.allocUnsafe(firstBytes);
  #start = 0;
  #at = 0;

  /** The buffer may be written again. One that a large entry needed is given up. */
  beginBatch(): void {
    this.#at = 0;
    if (this.#buffer.length > mostKeptBytes) this.#buffer = Buffer.allocUnsafe(firstBytes);
  }

  texts<Item>(items: readonly Item[], valueOf: (item: Item) => string | null): Buffer {
    this.#beginColumn(items.length, textOid);
    for (const item of items) {
      const value = valueOf(item);
      this.#reserve(4 + (value === null ? 0 : value.length * mostBytesPerUnit));
      const length = value === null ? nullLength : this.#buffer.write(value, this.#at + 4);
      this.#buffer.writeInt32BE(length, this.#at);
      this.#at += 4 + Math.max(length, 0);
      if (value === null) this.#noteNull();
    }
    return this.#buffer.subarray(this.#start, this.#at);
  }

  integers<Item>(items: readonly Item[], valueOf: (item: Item) => number | null): Buffer {
    this.#beginColumn(items.length, int4Oid);
    this.#reserve(items.length * 8);
    for (const item of items) {
      const value = valueOf(item);
      this.#at = this.#buffer.writeInt32BE(value === null ? nullLength : 4, this.#at);
      if (value === null) this.#noteNull();
      else this.#at = this.#buffer.writeInt32BE(value, this.#at);
    }
    return this.#buffer.subarray(this.#start, this.#at);
  }

  #beginColumn(length: number, elementOid: number): void {
    this.#start = this.#at;
    this.#reserve(headerBytes);
    writeHeader(this.#buffer, { at: this.#start, hasNull: 0, elementOid, length });
    this.#at += headerBytes;
  }

  #noteNull(): void {
    this.#buffer.writeInt32BE(1, this.#start + 4);
  }

  /** Earlier columns of the batch stay in the old buffer. */
  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.length) return;
    const written = this.#at - this.#start;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, written + bytes));
    this.#buffer.copy(larger, 0, this.#start, this.#at);
    this.#buffer = larger;
    this.#start = 0;
    this.#at = written;
  }
}
